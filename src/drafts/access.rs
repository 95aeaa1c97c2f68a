//! Requests of a kernel that depend on drafts: opening, reading, attributes.

use super::names::Entry;
use super::{Drafts, is_own};
use crate::fs::{Attr, Error, Ino, NodeKind, status};

/// A text of more bytes takes a while.
const LONG: u64 = 1 << 20;

/// An open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(pub u64);

/// The flags of open(2) that matter here.
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

/// The treatment of a file that has the new name of a rename already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenameMode {
    /// The other takes its place.
    Plain,
    /// Then nothing is renamed (`RENAME_NOREPLACE`).
    NoReplace,
    /// It gets the name of the other (`RENAME_EXCHANGE`); never done.
    Exchange,
}

/// Writing. A mount that cannot be written answers all of it with
/// [`Error::ReadOnly`], but for [`Drafts::open_file`] and what belongs to that.
///
/// A save happens in [`Drafts::flush`], [`Drafts::fsync`], [`Drafts::rename`] and
/// nowhere else; what is not saved is told as [`Error::Refused`] and kept in
/// `.cbfs/rejected/`. These, [`Drafts::create`], [`Drafts::unlink`] and
/// [`Drafts::truncate`] may take a while ([`Drafts::may_take_long`]); no other request
/// waits for them unless it is one of them, in the same base.
impl Drafts {
    /// Whether something in it can be written.
    pub fn can_be_written(&self) -> bool {
        self.mount.slots().iter().any(|slot| slot.is_edited())
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
        if let Some((mode, can_be_written)) = self.mode_of_own(attr.ino) {
            let set = mode.map_or(bits, |mode| mode & 0o777);
            return Ok(if can_be_written { set } else { write(bits) });
        }
        let can_be_written = self.is_writable(attr)?;
        Ok(if can_be_written { bits } else { write(bits) })
    }

    /// Whether what `attr` says holds until the kernel is told otherwise;
    /// not so while a program writes the file.
    pub fn is_settled(&self, attr: &Attr) -> bool {
        let is_written = || {
            let is_unused = self.is_unused();
            !is_unused && (is_own(attr.ino) || self.state().games.contains_key(&attr.ino))
        };
        attr.is_sized && !attr.is_renewed() && !is_written()
    }

    /// Whether a name that is not in this directory may come to be there without
    /// the kernel being told: that a draft was refused, for one.
    pub fn may_appear(&self, directory: Ino) -> bool {
        status::holds(directory.within_slot())
    }

    /// Whether a request that writes `ino`, or what is called `name` in it, may
    /// take longer than others can wait for: because it is a long text, or
    /// somebody else is saving into the same base.
    pub fn may_take_long(&self, ino: Ino, name: Option<&[u8]>) -> bool {
        let base = self.mount.base(ino);
        if matches!(base, Ok(Some(slot)) if slot.is_saving()) {
            return true;
        }
        let state = self.state();
        let draft = match name.map(str::from_utf8) {
            None => state.own(ino).map(|(_, draft)| draft),
            Some(Ok(name)) => match state.names.get(ino, name) {
                Some(Entry::File(id)) => state.drafts.get(id),
                _ => None,
            },
            Some(Err(_)) => None,
        };
        draft.is_some_and(|draft| draft.sheet.length() > LONG)
    }

    /// Whether all who have a file open read what each of them writes, as those
    /// of an editor's own file do. Who reads a game does not.
    pub fn is_shared(ino: Ino) -> bool {
        is_own(ino)
    }

    /// Counts the present content of a file as another one from now on.
    pub fn renew(&self, ino: Ino) {
        if let Ok(Some(slot)) = self.mount.base(ino) {
            slot.renew(ino.within_slot());
        }
    }

    /// As [`Drafts::flush`]; all that was saved survives a power cut then.
    ///
    /// # Errors
    ///
    /// As [`Drafts::flush`].
    pub fn fsync(&self, ino: Ino, handle: Option<Handle>) -> Result<(), Error> {
        handle.map_or(Ok(()), |handle| self.flush(handle))?;
        self.fsync_directory(ino)?;
        let mut state = self.state();
        let open = handle.and_then(|handle| state.handles.get(handle).ok());
        let id = open.and_then(|open| open.draft);
        if let Some(draft) = id.and_then(|id| state.drafts.get_mut(&id)) {
            draft.is_confirmed |= !draft.made.is_empty();
        }
        Ok(())
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
}
