//! What a book is, as far as its files say it themselves.

use std::path::PathBuf;

/// The program a book is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// ChessBase: `.ctg` `.cto` `.ctb`.
    Ctg,
    /// Kvetka: `.kob` `.kin` `.ksf`.
    Kvetka,
}

impl Format {
    /// The name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Format::Ctg => "ChessBase book (CTG)",
            Format::Kvetka => "Kvetka book",
        }
    }
}

/// A file of the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Where it lies, or would lie.
    pub path: PathBuf,
    /// What it holds, for messages.
    pub holds: &'static str,
    /// Its length in bytes when the book was opened; `None` if the book does
    /// without it.
    pub bytes: Option<u64>,
}

/// A field of a header, raw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderField {
    /// The extension of the file, such as `ctg`.
    pub file: &'static str,
    /// What it means, or where it lies if nobody knows.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
}

/// What a book says of itself, and what its files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The program it is of.
    pub format: Format,
    /// The name its files share.
    pub stem: String,
    /// A title, if the format has one and it is not empty.
    pub title: Option<String>,
    /// The files of the set, absent ones too.
    pub members: Vec<Member>,
    /// Pages or blocks that are wholly there.
    pub pages: u64,
    /// Length of one in bytes.
    pub page_bytes: u64,
    /// How many positions the header counts; ChessBase's count is some off.
    pub positions: Option<u64>,
    /// How many games the header says the book was made of.
    pub games: Option<u64>,
    /// Fields of the headers, in order.
    pub header: Vec<HeaderField>,
}
