//! Facts about a book: its format, files and header fields.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::check::BookCounts;

/// The format of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookFormat {
    /// ChessBase: `.ctg` `.cto` `.ctb`.
    Ctg,
    /// Kvetka: `.kob` `.kin` `.ksf`.
    Kvetka,
}

impl BookFormat {
    /// The name for display.
    pub fn name(self) -> &'static str {
        match self {
            BookFormat::Ctg => "ChessBase book (CTG)",
            BookFormat::Kvetka => "Kvetka book",
        }
    }
}

/// A file of the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookMember {
    /// Path of the file, also if it does not exist.
    pub path: PathBuf,
    /// Its content, for messages.
    pub holds: &'static str,
    /// Length in bytes at the time of opening; `None` if it does not exist.
    pub bytes: Option<u64>,
}

/// A raw field of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderField {
    /// The extension of the file, such as `ctg`.
    pub file: &'static str,
    /// Its meaning, or its offset if the meaning is unknown.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
}

/// Facts about a book from its files and headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookFacts {
    /// The format.
    pub format: BookFormat,
    /// The name that its files share.
    pub stem: String,
    /// The title, if the format has one and it is not empty.
    pub title: Option<String>,
    /// The files, including missing ones.
    pub members: Vec<BookMember>,
    /// Number of complete pages or blocks.
    pub pages: u64,
    /// Length of a page or block in bytes.
    pub page_bytes: u64,
    /// Number of positions according to the header. ChessBase's is approximate.
    pub positions: Option<u64>,
    /// Number of games the book was made of, according to the header.
    pub games: Option<u64>,
    /// The fields of the headers, in order.
    pub header: Vec<HeaderField>,
}

impl BookFacts {
    /// `book.json` of a book, shown up to `export_limit` positions, of which a check
    /// has found so much.
    pub fn json(&self, checked: Option<BookCounts>, export_limit: u32) -> Value {
        let positions = checked.map(|checked| checked.positions);
        let reached = checked.and_then(|checked| checked.reached);
        let files = self.members.iter().map(|member| {
            json!({
                "path": member.path.to_string_lossy(),
                "holds": member.holds,
                "bytes": member.bytes,
            })
        });
        json!({
            "format": self.format.name(),
            "name": self.stem,
            "title": self.title,
            "files": files.collect::<Vec<_>>(),
            "pages": self.pages,
            "page_bytes": self.page_bytes,
            "positions": positions,
            "reached": reached,
            "games": self.games,
            "header": self.header_json(),
            "options": { "export_limit": export_limit },
        })
    }

    /// The fields of each file's header.
    fn header_json(&self) -> Value {
        let mut files = Map::new();
        for field in &self.header {
            let fields = files.entry(field.file).or_insert_with(|| json!({}));
            if let Some(fields) = fields.as_object_mut() {
                fields.insert(field.name.to_owned(), field.value.into());
            }
        }
        files.into()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::book::Book;
    use crate::book::ctg::CtgBook;

    #[test]
    fn a_book_is_described_by_its_files_its_header_and_what_a_check_found() {
        let book = CtgBook::open(Path::new("fixtures/book/small/small.ctg")).unwrap();
        let facts = book.facts();
        let text = facts.json(None, 500);
        assert_eq!(text["format"], "ChessBase book (CTG)");
        assert_eq!(text["name"], "small");
        let lengths: Vec<_> = (0..3)
            .map(|at| text["files"][at]["bytes"].as_u64())
            .collect();
        assert_eq!(lengths, [Some(81_920), Some(224), Some(19)]);
        assert_eq!(
            [&text["pages"], &text["page_bytes"]],
            [&json!(19), &json!(4096)]
        );
        let header = &text["header"]["ctg"];
        assert_eq!(header["header length"], 32);
        assert_eq!(header["pages"], 19);
        assert_eq!([&header["option"], &header["its value"]], [5, 30]);
        assert_eq!(header["games"], text["games"]);
        assert_eq!(header["positions, about"], json!(facts.positions));
        assert_eq!([&text["positions"], &text["reached"]], [&Value::Null; 2]);
        assert_eq!(text["options"]["export_limit"], 500);
        let counts = BookCounts {
            positions: 70,
            reached: Some(60),
            ..BookCounts::default()
        };
        let text = facts.json(Some(counts), 500);
        assert_eq!(
            [&text["positions"], &text["reached"]],
            [&json!(70), &json!(60)]
        );
    }
}
