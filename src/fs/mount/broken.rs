//! A directory with one file that explains why a base cannot be opened.

use std::time::SystemTime;

use crate::escape::push_line;
use crate::fs::Error;
use crate::fs::volume::{
    Completeness, DirEntry, Ino, Listing, Node, NodeKind, Size, Volume, VolumeSize,
};

const NAME: &str = "ERROR";

/// Of a kind of its own: what is opened later has no such file.
const FILE: Ino = Ino::new(63, 1);

/// A directory with a file `ERROR`.
#[derive(Debug)]
pub(crate) struct Broken {
    text: String,
    modified: SystemTime,
}

impl Broken {
    /// Says `why`.
    pub(crate) fn new(why: &str, modified: SystemTime) -> Broken {
        let mut text = String::new();
        push_line(&mut text, why);
        Broken { text, modified }
    }
}

impl Volume for Broken {
    fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        self.parent(directory)?;
        if name != NAME.as_bytes() {
            return Err(Error::NotFound);
        }
        self.node(FILE)
    }

    fn node(&self, ino: Ino) -> Result<Node, Error> {
        let (kind, links) = match ino {
            Ino::ROOT => (NodeKind::Directory, 2),
            FILE => (NodeKind::File(Size::Rendered), 1),
            _ => return Err(Error::NotFound),
        };
        Ok(Node {
            ino,
            kind,
            links,
            modified: self.modified,
        })
    }

    fn parent(&self, directory: Ino) -> Result<Ino, Error> {
        match directory {
            Ino::ROOT => Ok(Ino::ROOT),
            FILE => Err(Error::NotADirectory),
            _ => Err(Error::NotFound),
        }
    }

    fn list(&self, directory: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        self.parent(directory)?;
        if after < 3 {
            listing(&DirEntry {
                name: NAME,
                node: self.node(FILE)?,
                cookie: 3,
            });
        }
        Ok(())
    }

    fn render(&self, ino: Ino, text: &mut Vec<u8>) -> Result<Completeness, Error> {
        if ino != FILE {
            return Err(Error::NotFound);
        }
        text.extend_from_slice(self.text.as_bytes());
        Ok(Completeness::Whole)
    }

    fn statistics(&self) -> VolumeSize {
        VolumeSize::default()
    }

    fn rendered(&self) -> (Ino, Ino) {
        // None: the last one is before the first.
        (FILE, Ino(FILE.0 - 1))
    }
}
