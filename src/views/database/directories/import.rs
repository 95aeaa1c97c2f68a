//! `import/` and `import/lenient/`, of a base that can be changed: files of
//! games that are put there are imported.

use super::super::DatabaseVolume;
use super::RootView;
use crate::fs::volume::{Ino, Listing, Node};
use crate::fs::{Error, Role};
use crate::views::list_fixed;

/// `import/lenient/`, which keeps bad games out.
pub(in super::super) const LENIENT: Ino = Ino(14);

const LENIENT_NAME: &str = "lenient";

/// What the names of files end in that programs have not finished.
const UNFINISHED: [&str; 12] = [
    "~",
    "#",
    ".tmp",
    ".temp",
    ".part",
    ".partial",
    ".crdownload",
    ".download",
    ".swp",
    ".swo",
    ".swx",
    ".bak",
];

/// `import/`
#[derive(Debug)]
pub(in super::super) struct Import;

impl Import {
    pub(in super::super) const NUMBER: Ino = Ino(13);
}

impl RootView for Import {
    fn is_there(&self, base: &DatabaseVolume) -> bool {
        base.editing.is_some()
    }

    fn holds(&self, ino: Ino) -> bool {
        ino == LENIENT
    }

    fn node(&self, base: &DatabaseVolume, ino: Ino) -> Result<Node, Error> {
        Ok(base.directory_node(ino, if ino == LENIENT { 2 } else { 3 }))
    }

    fn parent(&self, _: &DatabaseVolume, directory: Ino) -> Result<Ino, Error> {
        match directory {
            LENIENT => Ok(Import::NUMBER),
            _ => Err(Error::NotADirectory),
        }
    }

    fn lookup(&self, base: &DatabaseVolume, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        if directory == LENIENT || name != LENIENT_NAME.as_bytes() {
            return Err(Error::NotFound);
        }
        self.node(base, LENIENT)
    }

    fn list(
        &self,
        base: &DatabaseVolume,
        directory: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        let lenient = [(LENIENT_NAME, self.node(base, LENIENT)?)];
        let entries = lenient.into_iter().filter(|_| directory != LENIENT);
        list_fixed(entries, after, listing);
        Ok(())
    }

    fn role(&self, _: &DatabaseVolume, _: Ino, name: &[u8]) -> Role {
        if is_unfinished(name) {
            Role::Scratch
        } else {
            Role::Import
        }
    }
}

/// Whether a program will give the file another name when it is finished.
fn is_unfinished(name: &[u8]) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut ends = UNFINISHED.iter();
    name.starts_with(b".")
        || name.starts_with(b"#")
        || name == b"4913"
        || ends.any(|end| lower.ends_with(end.as_bytes()))
}
