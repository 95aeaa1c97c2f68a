//! What a kernel asks of a filesystem that can be written.

use std::time::SystemTime;

use super::{Attr, Bytes, Error, Ino, NodeKind, Place, Vfs, drafts};

/// An open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub u64);

/// What a file is opened for.
#[expect(clippy::struct_excessive_bools, reason = "they are flags of open(2)")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Reading.
    pub read: bool,
    /// Writing.
    pub write: bool,
    /// Its content goes first (`O_TRUNC`).
    pub truncate: bool,
    /// All is written at the end (`O_APPEND`), whatever the offset says.
    pub append: bool,
}

impl Access {
    /// For reading alone.
    pub const READ: Access = Access {
        read: true,
        write: false,
        truncate: false,
        append: false,
    };
}

/// What becomes of a file whose name another is to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameMode {
    /// The other takes its place.
    Plain,
    /// Then nothing is renamed (`RENAME_NOREPLACE`).
    NoReplace,
    /// It gets the name of the other (`RENAME_EXCHANGE`); never done.
    Exchange,
}

/// What a kernel has to be told after something was written. It may be told
/// of more than has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Names that may stand for something else now, each with its directory.
    pub names: Vec<(Ino, Box<[u8]>)>,
    /// Files that may have another content or length than was told.
    pub files: Vec<Ino>,
    /// Directories that may list something else now.
    pub directories: Vec<Ino>,
}

/// Writing. A mount that cannot be written answers all of it with
/// [`Error::ReadOnly`], but for [`Vfs::open_file`] and what belongs to that.
///
/// A save happens in [`Vfs::flush`], [`Vfs::fsync`], [`Vfs::rename`] and
/// nowhere else; what is not saved is told as [`Error::Refused`] and kept in
/// `.cbfs/rejected/`. These, [`Vfs::create`], [`Vfs::unlink`] and
/// [`Vfs::truncate`] may take a while ([`Vfs::may_take_long`]); no other request
/// waits for them unless it is one of them, in the same base.
impl Vfs {
    /// Whether something in it can be written.
    pub fn can_be_written(&self) -> bool {
        let editions = self.editions();
        let mut volumes = editions.iter().map(|edition| &edition.volume);
        volumes.any(|volume| volume.editor().is_some())
    }

    /// Mode of a file or directory: 0644 and 0755 if it can be written, 0444
    /// and 0555 if not; what was last set, for an editor's own file.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`].
    pub fn permissions(&self, attr: &Attr) -> Result<u16, Error> {
        let write = |bits: u16| if bits == 0o755 { 0o555 } else { 0o444 };
        let bits = match attr.kind {
            NodeKind::Directory => 0o755,
            NodeKind::File(_) => 0o644,
            NodeKind::Symlink => return Ok(0o777),
        };
        if let Some((mode, can_be_written)) = self.mode_on_desk(attr.ino) {
            let set = mode.map_or(bits, |mode| mode & 0o777);
            return Ok(if can_be_written { set } else { write(bits) });
        }
        let can_be_written = self.is_writable(attr)?;
        Ok(if can_be_written { bits } else { write(bits) })
    }

    /// Whether what `attr` says holds until the kernel is told otherwise;
    /// not so while somebody writes the file.
    pub fn is_settled(&self, attr: &Attr) -> bool {
        attr.is_sized && !attr.is_renewed() && !self.is_on_desk(attr.ino)
    }

    /// Whether a name that is not in this directory may come to be there without
    /// the kernel being told: that a draft was refused, for one.
    pub fn may_appear(&self, directory: Ino) -> bool {
        super::about::holds(directory.within_slot())
    }

    /// What the kernel has to be told since this was asked last. To be asked
    /// before a request that writes is answered, so that whoever waits for the
    /// answer finds everything as it is then.
    pub fn take_written(&self) -> Written {
        self.written()
    }

    /// Whether a request that writes `ino`, or what is called `name` in it, may
    /// take longer than others can wait for: because it is a long text, or
    /// somebody else is saving into the same base.
    pub fn may_take_long(&self, ino: Ino, name: Option<&[u8]>) -> bool {
        self.is_busy(ino) || self.has_long_draft(ino, name)
    }

    /// Makes a file and opens it; opens the one that is there, unless that
    /// is excluded (`O_EXCL`).
    ///
    /// # Errors
    ///
    /// [`Error::Exists`]; [`Error::NotPermitted`] where there can be no such
    /// file; [`Error::NoSpace`]; those of [`Vfs::open_file`].
    pub fn create(
        &self,
        directory: Ino,
        name: &[u8],
        access: Access,
        is_exclusive: bool,
    ) -> Result<(Attr, Handle), Error> {
        self.create_file(directory, name, access, is_exclusive)
    }

    /// Opens a file. Who only reads goes on with the content it has now.
    ///
    /// # Errors
    ///
    /// [`Error::NotWritable`] for writing what cannot be written,
    /// [`Error::NotPermitted`] for what is deleted; those of [`Vfs::read`].
    pub fn open_file(&self, ino: Ino, access: Access) -> Result<Handle, Error> {
        self.open_any(ino, access)
    }

    /// Opens a file to read the text that had this mark a moment ago.
    ///
    /// # Errors
    ///
    /// [`Error::Stale`] if it is gone; those of [`Vfs::read`].
    pub fn open_earlier(&self, ino: Ino, mark: u32) -> Result<Handle, Error> {
        self.open_text(ino, mark)
    }

    /// Up to `length` bytes from `offset` on; fewer only at the end.
    ///
    /// # Errors
    ///
    /// [`Error::NotOpen`]; those of [`Vfs::read`].
    pub fn read_open(&self, handle: Handle, offset: u64, length: u32) -> Result<Bytes, Error> {
        self.read_handle(handle, offset, length)
    }

    /// Mark of the content that is read through a handle; none if that is a
    /// draft, or whatever there is.
    pub fn content_of(&self, handle: Handle) -> Option<u32> {
        self.content_of_handle(handle)
    }

    /// What `stat` says of a file that is open: of the content that is read
    /// through the handle, whatever the file is by now.
    ///
    /// # Errors
    ///
    /// [`Error::NotOpen`]; [`Error::Stale`] for a large file that changed since;
    /// those of [`Vfs::attr`].
    pub fn attr_open(&self, handle: Handle) -> Result<Attr, Error> {
        self.attr_of_handle(handle)
    }

    /// Whether all who have a file open read what each of them writes, as those
    /// of an editor's own file do. Who reads a game does not.
    pub fn is_shared(ino: Ino) -> bool {
        drafts::is_own(ino)
    }

    /// Counts the present content of a file as another one from now on.
    pub fn renew(&self, ino: Ino) {
        if let Ok(Place::Volume(slot, inner)) = self.place(ino) {
            slot.renew(inner);
        }
    }

    /// Writes `bytes` at `offset`; gives how many.
    ///
    /// # Errors
    ///
    /// [`Error::NotOpen`]; [`Error::TooLarge`] for a game of more than 16
    /// MiB, [`Error::NoSpace`].
    pub fn write(&self, handle: Handle, offset: u64, bytes: &[u8]) -> Result<u32, Error> {
        self.write_handle(handle, offset, bytes)
    }

    /// Cuts a file, or fills it up with zeros. Without a handle, a game is
    /// saved at once; cut to nothing it stays as it is.
    ///
    /// # Errors
    ///
    /// Those of [`Vfs::write`]; without a handle, those of [`Vfs::open_file`]
    /// and [`Vfs::flush`].
    pub fn truncate(&self, ino: Ino, handle: Option<Handle>, length: u64) -> Result<Attr, Error> {
        self.truncate_any(ino, handle, length)
    }

    /// Sets mode and time (`chmod`, `utimens`). An editor's own file keeps
    /// them; all else that can be written stays as it is.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::NotPermitted`] for what cannot be
    /// written.
    pub fn set_attributes(
        &self,
        ino: Ino,
        mode: Option<u16>,
        modified: Option<SystemTime>,
    ) -> Result<Attr, Error> {
        self.set_attributes_of(ino, mode, modified)
    }

    /// Saves what was written through `handle`; the file shows what is
    /// stored when this returns. Nothing if nothing was written.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`]; [`Error::NotOpen`]; that of the medium.
    pub fn flush(&self, handle: Handle) -> Result<(), Error> {
        self.flush_handle(handle)
    }

    /// As [`Vfs::flush`]; all that was saved survives a power cut then.
    ///
    /// # Errors
    ///
    /// As [`Vfs::flush`].
    pub fn fsync(&self, ino: Ino, handle: Option<Handle>) -> Result<(), Error> {
        handle.map_or(Ok(()), |handle| self.flush(handle))?;
        self.sync_base(ino)?;
        if let Some(handle) = handle {
            self.confirm_handle(handle);
        }
        Ok(())
    }

    /// Returns when all that was saved survives a power cut.
    ///
    /// # Errors
    ///
    /// That of the medium.
    pub fn fsync_directory(&self, directory: Ino) -> Result<(), Error> {
        self.sync_base(directory)
    }

    /// Closes a file. Saves nothing: who writes to the end has flushed.
    pub fn release(&self, handle: Handle) {
        self.release_handle(handle);
    }

    /// Renames a file, or what a directory of games stands for. To put a file
    /// in the place of a game is to save it as that.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`]; [`Error::Exists`]; [`Error::NotEmpty`];
    /// [`Error::Invalid`] for an exchange; [`Error::NotPermitted`];
    /// [`Error::Elsewhere`] from base to base; those of [`Vfs::flush`].
    pub fn rename(
        &self,
        directory: Ino,
        name: &[u8],
        new_directory: Ino,
        new_name: &[u8],
        mode: RenameMode,
    ) -> Result<(), Error> {
        self.rename_file((directory, name), (new_directory, new_name), mode)
    }

    /// Removes a file; a game is deleted, which a new file of its name
    /// reverses.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`], [`Error::IsADirectory`], [`Error::NotPermitted`].
    pub fn unlink(&self, directory: Ino, name: &[u8]) -> Result<(), Error> {
        self.unlink_file(directory, name)
    }

    /// Makes an editor's own file that is a copy of this one.
    ///
    /// # Errors
    ///
    /// [`Error::Exists`]; [`Error::NotPermitted`] if the name is not one for
    /// such a file; [`Error::NoSpace`].
    pub fn link(&self, ino: Ino, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        self.copy_file(ino, directory, name)
    }

    /// Makes a directory, a symbolic link or a device, which nobody can.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`] but in a base that can be written, there
    /// [`Error::Exists`], or else [`Error::NotPermitted`].
    pub fn make(&self, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        self.edited(directory)?;
        match self.lookup(directory, name) {
            Ok(_) => Err(Error::Exists),
            Err(Error::NotFound) => Err(Error::NotPermitted),
            Err(error) => Err(error),
        }
    }

    /// Removes a directory, which nobody can.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`] but in a base that can be written, there
    /// [`Error::NotFound`], [`Error::NotADirectory`], or else
    /// [`Error::NotPermitted`].
    pub fn remove_directory(&self, directory: Ino, name: &[u8]) -> Result<(), Error> {
        self.edited(directory)?;
        match self.lookup(directory, name)?.kind {
            NodeKind::Directory => Err(Error::NotPermitted),
            _ => Err(Error::NotADirectory),
        }
    }

    /// Ends writing, before the mount goes: drafts that were not saved are
    /// kept in `.cbfs/rejected/`, and all that was saved survives a power cut
    /// when this returns.
    ///
    /// # Errors
    ///
    /// That of the medium.
    pub fn end(&self) -> Result<(), Error> {
        self.end_drafts()
    }
}
