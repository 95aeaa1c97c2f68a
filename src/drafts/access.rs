//! Types of requests that write, and those requests that need no draft of their own:
//! permissions, fsync, mkdir and rmdir.

use super::names::NameTarget;
use super::{Drafts, is_own};
use crate::fs::{Attr, Error, Ino, NodeKind, status};

/// Length from which a text counts as long, in bytes.
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
    /// The content is removed at opening (`O_TRUNC`).
    pub truncate: bool,
    /// All writes go to the end (`O_APPEND`), regardless of their offset.
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

/// Requests that write. On a read-only mount all of them return
/// [`Error::ReadOnly`], except [`Drafts::open_file`] and requests on its
/// handles.
///
/// [`Drafts::flush`], [`Drafts::fsync`], [`Drafts::rename`], and
/// [`Drafts::truncate`] without a handle save the text of a draft. A text that
/// cannot be saved is reported as [`Error::Refused`] and kept in
/// `.cbfs/rejected/`. These three, [`Drafts::create`], [`Drafts::unlink`] and
/// [`Drafts::truncate`] can be slow ([`Drafts::may_take_long`]). Other requests
/// do not wait for them, except these six in the same base.
impl Drafts {
    /// Whether something in it can be written.
    pub fn can_be_written(&self) -> bool {
        self.mount
            .live_bases()
            .iter()
            .any(|live| live.is_editable())
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
        if let Some((mode, can_be_written)) = self.mode_of_draft(attr.ino) {
            let set = mode.map_or(bits, |mode| mode & 0o777);
            return Ok(if can_be_written { set } else { write(bits) });
        }
        let can_be_written = self.is_writable(attr)?;
        Ok(if can_be_written { bits } else { write(bits) })
    }

    /// Returns whether `attr` stays valid until an invalidation is sent. It
    /// does not while a program writes the file.
    pub fn is_settled(&self, attr: &Attr) -> bool {
        let is_written = || {
            let is_unused = self.is_unused();
            !is_unused && (is_own(attr.ino) || self.state.lock().games.contains_key(&attr.ino))
        };
        attr.is_sized && !attr.is_volatile() && !is_written()
    }

    /// Returns whether a missing name in this directory can appear without an
    /// invalidation, such as that of a rejected draft.
    pub fn may_appear(&self, directory: Ino) -> bool {
        status::holds(directory.within_base())
    }

    /// Returns whether a request that writes `ino`, or the file `name` in it,
    /// may be too slow for the request threads: its text is long, or a save
    /// into the same base is running.
    pub fn may_take_long(&self, ino: Ino, name: Option<&[u8]>) -> bool {
        let base = self.mount.base(ino);
        if matches!(base, Ok(Some(live)) if live.is_saving()) {
            return true;
        }
        let state = self.state.lock();
        let draft = match name.map(str::from_utf8) {
            None => state.own(ino).map(|(_, draft)| draft),
            Some(Ok(name)) => match state.names.get(ino, name) {
                Some(NameTarget::File(id)) => state.drafts.get(id),
                _ => None,
            },
            Some(Err(_)) => None,
        };
        draft.is_some_and(|draft| draft.buffer.length() > LONG)
    }

    /// Returns whether readers see the unsaved writes of other handles: for an
    /// editor's own files, not for games.
    pub fn is_shared(ino: Ino) -> bool {
        is_own(ino)
    }

    /// Makes the present content of a file count as a new one, so that the
    /// kernel gets a new node for it.
    pub fn renew(&self, ino: Ino) {
        if let Ok(Some(live)) = self.mount.base(ino) {
            live.renew(ino.within_base());
        }
    }

    /// As [`Drafts::flush`]; all that was saved survives a power cut then.
    ///
    /// # Errors
    ///
    /// As [`Drafts::flush`].
    pub fn fsync(&self, ino: Ino, handle: Option<Handle>) -> Result<(), Error> {
        if let Some(handle) = handle {
            self.save_written(handle)?;
        }
        self.fsync_directory(ino)?;
        let mut state = self.state.lock();
        let open = handle.and_then(|handle| state.handles.get(handle).ok());
        let id = open.and_then(|open| open.draft);
        if let Some(draft) = id.and_then(|id| state.drafts.get_mut(&id)) {
            draft.is_confirmed |= !draft.made.is_empty();
        }
        Ok(())
    }

    /// Always refused: directories, symbolic links and devices cannot be
    /// created.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`] but in a base that can be written, there
    /// [`Error::Exists`], or else [`Error::NotPermitted`].
    pub fn make(&self, directory: Ino, name: &[u8]) -> Result<Attr, Error> {
        self.editable(directory)?;
        match self.lookup(directory, name) {
            Ok(_) => Err(Error::Exists),
            Err(Error::NotFound) => Err(Error::NotPermitted),
            Err(error) => Err(error),
        }
    }

    /// Always refused: directories cannot be removed.
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`] but in a base that can be written, there
    /// [`Error::NotFound`], [`Error::NotADirectory`], or else
    /// [`Error::NotPermitted`].
    pub fn remove_directory(&self, directory: Ino, name: &[u8]) -> Result<(), Error> {
        self.editable(directory)?;
        match self.lookup(directory, name)?.kind {
            NodeKind::Directory => Err(Error::NotPermitted),
            _ => Err(Error::NotADirectory),
        }
    }
}
