//! Results of walks through a whole book, kept for the next time: the lengths of
//! its exports, and the findings of an examination.
//!
//! It lies in a file of the user's cache directory: a line with a hash, and JSON.
//! The hash is that of what the book is, by the identities of its files and the
//! settings that decide on its texts, and of the JSON. A file with another hash is
//! as good as none.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use xxhash_rust::xxh3::Xxh3;

use super::Book;
use super::check::BookCounts;
use super::export::{ExportFormat, RENDER_VERSION};
use crate::storage::{identities, name_elsewhere, open_own, write_whole};

/// Bytes of the file, at most.
const MOST_BYTES: u64 = 8 << 20;

/// What is kept of a book.
#[derive(Debug, Default)]
pub struct BookCache {
    /// The directory of the file; `None` if nothing is kept.
    directory: Option<PathBuf>,
    /// The settings that the texts of a book depend on.
    settings: String,
    /// The file, and what the book was when it was read.
    file: Option<(PathBuf, String)>,
    known: Mutex<KnownOfBook>,
}

#[derive(Clone, Debug, Default)]
struct KnownOfBook {
    /// Lengths of exports, by their names.
    lengths: Map<String, Value>,
    examined: Option<Examined>,
}

/// What an examination of a book found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The counts.
    pub checked: BookCounts,
    /// The defects, a line each.
    pub defects: Vec<String>,
}

impl BookCache {
    /// Reads the file of this book in `directory`, if it was written with the same
    /// `settings`: all that its texts depend on besides its files. Without a
    /// directory nothing is kept.
    pub fn of(book: &dyn Book, directory: Option<&Path>, settings: String) -> BookCache {
        let mut kept = BookCache {
            directory: directory.map(Path::to_path_buf),
            settings,
            ..BookCache::default()
        };
        kept.file = kept.file_of(book);
        if let Some((path, identity)) = &kept.file {
            match load(path, identity) {
                Ok(known) => kept.known = Mutex::new(known.unwrap_or_default()),
                Err(error) => log::debug!("{}: {error}", path.display()),
            }
        }
        kept
    }

    /// The length of an export.
    pub fn length(&self, format: ExportFormat) -> Option<u64> {
        self.known.lock().lengths.get(name(format))?.as_u64()
    }

    /// What an examination found.
    pub fn examined(&self) -> Option<Examined> {
        self.known.lock().examined.clone()
    }

    /// Keeps the lengths of exports. That it fails costs time when they are asked
    /// for next and is no error.
    pub fn keep_lengths(
        &self,
        book: &dyn Book,
        lengths: impl Iterator<Item = (ExportFormat, u64)>,
    ) {
        let mut known = self.known.lock();
        for (format, bytes) in lengths {
            known.lengths.insert(name(format).to_owned(), bytes.into());
        }
        self.save(book, &known);
    }

    /// Keeps what an examination found, as [`keep_lengths`](BookCache::keep_lengths).
    pub fn keep_examined(&self, book: &dyn Book, examined: Examined) {
        let mut known = self.known.lock();
        known.examined = Some(examined);
        self.save(book, &known);
    }

    fn save(&self, book: &dyn Book, known: &KnownOfBook) {
        let Some((path, identity)) = &self.file else {
            return;
        };
        // Of a book that has changed meanwhile it tells nothing.
        if self.file_of(book) == self.file
            && let Err(error) = save(known, path, identity)
        {
            log::debug!("{}: {error}", path.display());
        }
    }

    /// The file of a book, and what the book is.
    fn file_of(&self, book: &dyn Book) -> Option<(PathBuf, String)> {
        let facts = book.facts();
        let paths = || facts.members.iter().map(|member| member.path.as_path());
        let first = paths().next()?;
        let absolute = std::path::absolute(first).ok()?;
        let name = name_elsewhere(&absolute) + ".book";
        let identity = format!(
            "{} render {RENDER_VERSION} {} {}",
            env!("CARGO_PKG_VERSION"),
            self.settings,
            identities(paths()),
        );
        Some((self.directory.as_ref()?.join(name), identity))
    }
}

/// The name under which the length of an export is kept.
fn name(format: ExportFormat) -> &'static str {
    match format {
        ExportFormat::Pgn => "pgn",
        ExportFormat::Openings => "openings",
        ExportFormat::Epd => "epd",
        ExportFormat::Tsv => "tsv",
        ExportFormat::Polyglot => "polyglot",
    }
}

/// The first line of a file with this body.
fn head(identity: &str, body: &str) -> String {
    let mut hasher = Xxh3::new();
    hasher.update(identity.as_bytes());
    hasher.update(&[0]);
    hasher.update(body.as_bytes());
    format!("cbfs book 1 {:016x}\n", hasher.digest())
}

/// What the file has of the book that is this; `None` if it is of another, or
/// damaged.
fn load(path: &Path, identity: &str) -> io::Result<Option<KnownOfBook>> {
    let mut text = String::new();
    open_own(path)?.take(MOST_BYTES).read_to_string(&mut text)?;
    let Some((_, body)) = text.split_once('\n') else {
        return Ok(None);
    };
    if !text.starts_with(&head(identity, body)) {
        return Ok(None);
    }
    Ok(serde_json::from_str(body)
        .ok()
        .map(|value: Value| KnownOfBook::from(&value)))
}

/// Writes the file, whole or not at all.
fn save(known: &KnownOfBook, path: &Path, identity: &str) -> io::Result<()> {
    let body = known.json().to_string();
    write_whole(path, |file| {
        file.write_all(head(identity, &body).as_bytes())?;
        file.write_all(body.as_bytes())
    })
}

impl KnownOfBook {
    fn json(&self) -> Value {
        let examined = self.examined.as_ref().map(|examined| {
            let BookCounts {
                positions,
                reached,
                moves,
                unreachable,
            } = examined.checked;
            json!({
                "positions": positions,
                "reached": reached,
                "moves": moves,
                "unreachable": unreachable,
                "defects": examined.defects,
            })
        });
        json!({"lengths": self.lengths, "examined": examined})
    }

    fn from(value: &Value) -> KnownOfBook {
        let lengths = value.get("lengths").and_then(Value::as_object);
        KnownOfBook {
            lengths: lengths.cloned().unwrap_or_default(),
            examined: value.get("examined").and_then(Examined::from),
        }
    }
}

impl Examined {
    fn from(value: &Value) -> Option<Examined> {
        let number = |name: &str| value.get(name).and_then(Value::as_u64);
        let defects = value.get("defects")?.as_array()?.iter();
        let defects = defects.map(|line| line.as_str().map(str::to_owned));
        Some(Examined {
            checked: BookCounts {
                positions: number("positions")?,
                reached: number("reached"),
                moves: number("moves")?,
                unreachable: number("unreachable"),
            },
            defects: defects.collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::ctg::CtgBook;

    fn known() -> KnownOfBook {
        let mut lengths = Map::new();
        lengths.insert("epd".to_owned(), 7_000_000_000_u64.into());
        KnownOfBook {
            lengths,
            examined: Some(Examined {
                checked: BookCounts {
                    positions: 7,
                    reached: None,
                    moves: 9,
                    unreachable: Some(0),
                },
                defects: vec!["a line".to_owned(), "\"еще\n".to_owned()],
            }),
        }
    }

    #[test]
    fn what_was_kept_of_a_book_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("new/a.book");
        save(&known(), &path, "this book").unwrap();
        let back = load(&path, "this book").unwrap().unwrap();
        assert_eq!(back.examined, known().examined);
        assert_eq!(back.lengths, known().lengths);
        assert!(load(&path, "that book").unwrap().is_none());
    }

    #[test]
    fn lengths_of_exports_are_kept_with_the_settings_they_depend_on() {
        let directory = tempfile::tempdir().unwrap();
        let book = CtgBook::open(Path::new("fixtures/book/small/small.ctg")).unwrap();
        let kept = |directory: Option<&Path>, settings: &str| {
            BookCache::of(&book, directory, settings.to_owned())
        };
        let place = Some(directory.path());
        for place in [place, None] {
            let first = kept(place, "usual");
            assert_eq!(first.length(ExportFormat::Epd), None);
            first.keep_lengths(
                &book,
                [(ExportFormat::Epd, 70), (ExportFormat::Tsv, 9)].into_iter(),
            );
            assert_eq!(first.length(ExportFormat::Epd), Some(70));
            first.keep_examined(&book, known().examined.unwrap());
            assert_eq!(first.examined(), known().examined);
        }
        let again = kept(place, "usual");
        let formats = [ExportFormat::Epd, ExportFormat::Tsv, ExportFormat::Pgn];
        let lengths = formats.map(|format| again.length(format));
        assert_eq!(lengths, [Some(70), Some(9), None]);
        assert_eq!(again.examined(), known().examined);
        for other in [kept(None, "usual"), kept(place, "other")] {
            assert_eq!(other.length(ExportFormat::Epd), None);
            assert_eq!(other.examined(), None);
        }
    }

    #[test]
    fn each_export_has_a_name_of_its_own() {
        let names = ExportFormat::ALL.map(name);
        assert_eq!(names, ["pgn", "openings", "epd", "tsv", "polyglot"]);
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.book");
        save(&known(), &path, "this book").unwrap();
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&path, &bad).unwrap();
            let loaded = load(&path, "this book");
            assert!(loaded.is_err() || loaded.unwrap().is_none(), "{at}");
            std::fs::write(&path, &good[..at]).unwrap();
            let loaded = load(&path, "this book");
            assert!(loaded.is_err() || loaded.unwrap().is_none(), "{at}");
        }
    }
}
