//! What can be walked: a database or book, a directory of them, `.cbfs/`.

use crate::fs::volume::Ino;
use crate::fs::{Attr, Bytes, Error, ListingWithAttrs};

/// A part of a mount. A request is routed to one by the number it is about;
/// numbers in here are those of the part, without that of the base.
///
/// What all roots have in common, the entry `.cbfs/` and the link that comes
/// with it, is added by the mount.
pub(crate) trait Tree {
    /// Looks up `name` in `directory`; the length may be unknown.
    ///
    /// # Errors
    ///
    /// Those of [`Vfs::lookup_at_once`](crate::vfs::Vfs::lookup_at_once).
    fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Attr, Error>;

    /// Returns the attributes of an inode.
    ///
    /// # Errors
    ///
    /// Those of [`Vfs::attr`](crate::vfs::Vfs::attr).
    fn attr(&self, ino: Ino) -> Result<Attr, Error>;

    /// The directory that this one lies in; a root lies in itself.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] and [`Error::NotADirectory`].
    fn parent(&self, directory: Ino) -> Result<Ino, Error>;

    /// Lists `directory` after the cookie `after`, without `.` and `..`; with
    /// the attributes of each entry if `with_attrs`.
    ///
    /// # Errors
    ///
    /// Those of [`Vfs::list`](crate::vfs::Vfs::list).
    fn list(
        &self,
        directory: Ino,
        after: u64,
        with_attrs: bool,
        listing: &mut ListingWithAttrs<'_>,
    ) -> Result<(), Error>;

    /// Up to `length` bytes from `offset` on.
    ///
    /// # Errors
    ///
    /// Those of [`Vfs::read`](crate::vfs::Vfs::read).
    fn read(&self, ino: Ino, offset: u64, length: u32) -> Result<Bytes, Error>;
}
