//! Facts about a book: its format, files and header fields.

use std::path::PathBuf;

/// The format of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// ChessBase: `.ctg` `.cto` `.ctb`.
    Ctg,
    /// Kvetka: `.kob` `.kin` `.ksf`.
    Kvetka,
}

impl Format {
    /// The name for display.
    pub fn name(self) -> &'static str {
        match self {
            Format::Ctg => "ChessBase book (CTG)",
            Format::Kvetka => "Kvetka book",
        }
    }
}

/// A file of the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
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
pub struct Facts {
    /// The format.
    pub format: Format,
    /// The name that its files share.
    pub stem: String,
    /// The title, if the format has one and it is not empty.
    pub title: Option<String>,
    /// The files, including missing ones.
    pub members: Vec<Member>,
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
