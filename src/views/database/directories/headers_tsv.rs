//! `headers.tsv` in the root.

use super::super::DatabaseVolume;
use super::RootView;
use crate::fs::Error;
use crate::fs::volume::{Ino, Listing, Node, NodeKind, Size};

/// `headers.tsv`, as something in the root.
#[derive(Debug)]
pub(in super::super) struct HeadersFile;

impl HeadersFile {
    pub(in super::super) const NUMBER: Ino = Ino(64);
}

impl RootView for HeadersFile {
    fn node(&self, base: &DatabaseVolume, ino: Ino) -> Result<Node, Error> {
        let size = base.headers_tsv.known_size();
        Ok(Node {
            ino,
            kind: NodeKind::File(size.map_or(Size::Computed, Size::Known)),
            links: 1,
            modified: base.modified(),
        })
    }

    fn lookup(&self, _: &DatabaseVolume, _: Ino, _: &[u8]) -> Result<Node, Error> {
        Err(Error::NotADirectory)
    }

    fn list(&self, _: &DatabaseVolume, _: Ino, _: u64, _: &mut Listing<'_>) -> Result<(), Error> {
        Err(Error::NotADirectory)
    }

    fn size(&self, base: &DatabaseVolume, _: Ino) -> Result<u64, Error> {
        let size = base.headers_tsv.size(base.base.as_ref(), None);
        base.ensure_present()?;
        Ok(size?)
    }

    fn read(
        &self,
        base: &DatabaseVolume,
        _: Ino,
        (offset, length): (u64, u32),
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let file = &base.headers_tsv;
        let read = file.read(base.base.as_ref(), None, (offset, length), bytes);
        base.ensure_present()?;
        Ok(read?)
    }
}
