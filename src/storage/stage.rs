//! Appends that are too large for the journal. The bytes are written behind the
//! ends of the files first; then a transaction makes other bytes point to them.
//!
//! Before the first append, a note beside the journal records the lengths of
//! the files. The transaction that points to the bytes also removes the note.
//! If the base is opened and there is a note that no transaction in the journal
//! removes, the files are cut back to these lengths. So the base has the old or
//! the new state, without left-over bytes. Readers without write access see the
//! files as if cut.
//!
//! The note, all integers little-endian:
//!
//! ```text
//!  0   8  "cbfsstag"
//!  8   4  version of this layout: 1
//! 12   4  number of files
//!         for each of them
//!  0   8    its length
//! 8    checksum of its first 26 bytes, of all bytes if it is shorter
//! 16   2    length of its name
//! 18   …    its name
//!  …   8  checksum of all before
//! ```
//!
//! Checksums are XXH3 of 64 bits. A file whose first bytes have changed was
//! modified by another program and is not cut. After an incomplete note nothing
//! was appended.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use xxhash_rust::xxh3::xxh3_64;

use super::journal_writer::ensure_trusted;
use super::record::is_plain_name;
use super::{
    Directory, Error, FileFilter, ReadBuffer, Stamp, Storage, Store, Transaction, WritableFile,
};

const MAGIC: &[u8; 8] = b"cbfsstag";
const VERSION: u32 = 1;

/// The headers of all files of a base that store lengths have them in this many
/// first bytes.
const HEAD_BYTES: usize = 26;

/// Maximum length of a note.
const MOST_BYTES: usize = 1 << 16;

/// Returns the name of the note of a [stage](crate::storage::Stage), for the
/// journal of this name.
pub fn note_name(journal: &OsStr) -> OsString {
    let name = journal.as_bytes();
    let stem = name.strip_suffix(b"-journal").unwrap_or(name);
    OsString::from_vec([stem, b"-stage"].concat())
}

/// Appends in progress; see [`Store::stage`]. If it is dropped before
/// [`commit`](Stage::commit), the base stays as it was.
#[derive(Debug)]
pub struct Stage<'a> {
    store: &'a Store,
    files: BTreeMap<OsString, Staged>,
    is_finished: bool,
}

/// A file with appended bytes.
#[derive(Debug)]
struct Staged {
    file: Box<dyn WritableFile>,
    /// Its length before the first append.
    len: u64,
    /// Its stamp after the last write.
    stamp: Stamp,
}

impl Staged {
    /// Checks that no other program changed the file since the last write.
    fn ensure_ours(&self, directory: &dyn Directory, name: &OsStr) -> Result<(), Error> {
        let now = directory.stamp(name).map_err(Error::io(name))?;
        if now != Some(self.stamp) {
            let file = name.to_owned();
            return Err(Error::ChangedOutside { file });
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_at(offset, bytes);
        self.stamp = self.file.stamp()?;
        written
    }
}

/// A file as recorded in the note.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Noted {
    name: OsString,
    len: u64,
    head: u64,
}

impl Noted {
    /// Returns whether this is the recorded file, with bytes behind its former
    /// end.
    fn was_appended_to(&self, file: &(impl Storage + ?Sized)) -> io::Result<bool> {
        Ok(file.len()? > self.len && head_of(file, self.len)? == self.head)
    }
}

impl<'a> Stage<'a> {
    /// Opens the files and writes the note.
    pub(super) fn begin(store: &'a Store, names: &[OsString]) -> Result<Stage<'a>, Error> {
        let directory = store.directory();
        let mut files = BTreeMap::new();
        let mut noted = Vec::new();
        for name in names {
            let io = Error::io(name);
            let file = directory.open_writable(name).map_err(&io)?;
            let len = file.len().map_err(&io)?;
            let head = head_of(file.as_ref(), len).map_err(&io)?;
            noted.push(Noted {
                name: name.clone(),
                len,
                head,
            });
            let stamp = file.stamp().map_err(&io)?;
            files.insert(name.clone(), Staged { file, len, stamp });
        }
        let note = note_name(store.journal());
        leave(directory, &note, &encode(&noted)).map_err(Error::io(&note))?;
        Ok(Stage {
            store,
            files,
            is_finished: false,
        })
    }

    /// Returns the length of a file before the first append; `None` if the file
    /// is not part of the stage.
    pub fn begins_at(&self, name: &OsStr) -> Option<u64> {
        self.files.get(name).map(|staged| staged.len)
    }

    /// Writes bytes at an offset behind the former end of a file.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for another offset, or a file that is not part of the
    /// stage; [`Error::ChangedOutside`] if another program changed the file;
    /// [`Error::Io`].
    pub fn write(&mut self, name: &OsStr, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let directory = self.store.directory();
        let staged = self.files.get_mut(name);
        let Some(staged) = staged.filter(|staged| offset >= staged.len) else {
            return Err(Error::Invalid {
                file: name.to_owned(),
                what: "nothing can be laid there",
            });
        };
        staged.ensure_ours(directory, name)?;
        staged.write(offset, bytes).map_err(Error::io(name))
    }

    /// Commits the transaction that points to the appended bytes, which are then
    /// part of the base, as after [`Store::commit`]. On an error the base is as
    /// before. Returns whether anything changed.
    ///
    /// # Errors
    ///
    /// As [`Store::commit`].
    pub fn commit(mut self, mut transaction: Transaction) -> Result<bool, Error> {
        for (name, staged) in &self.files {
            staged.ensure_ours(self.store.directory(), name)?;
            staged.file.sync().map_err(Error::io(name))?;
        }
        transaction.remove(note_name(self.store.journal()));
        let committed = self.store.commit_staged(&transaction)?;
        self.is_finished = true;
        self.store.end_stage(self.files.keys());
        Ok(committed)
    }

    /// Cuts the files back and removes the note. Does neither if another
    /// program changed one of the files.
    fn undo(&self) -> Result<(), Error> {
        for (name, staged) in &self.files {
            staged.ensure_ours(self.store.directory(), name)?;
        }
        for (name, staged) in &self.files {
            let io = Error::io(name);
            staged.file.set_len(staged.len).map_err(&io)?;
            staged.file.sync().map_err(&io)?;
        }
        let note = note_name(self.store.journal());
        forget(self.store.directory(), &note).map_err(Error::io(&note))
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        match self.undo() {
            Ok(()) => self.store.end_stage(self.files.keys()),
            // Without the cut, nothing may be written behind the left-over bytes.
            Err(error @ Error::Io { .. }) => {
                log::warn!("{error}; the base is cut back before the next save");
                self.store.leave_stage(self.files.keys());
            }
            // Files of another program are not cut; no save is made beside them.
            Err(error) => log::warn!("{error}; nothing is saved until the base is opened anew"),
        }
    }
}

/// Cuts back the appends of an import that was interrupted. Files that do not
/// belong to the base are not touched.
///
/// # Errors
///
/// [`Error::Untrusted`] for a note of another user; [`Error::Io`].
pub(super) fn clean_up(
    directory: &dyn Directory,
    journal: &OsStr,
    file_filter: &FileFilter,
) -> Result<(), Error> {
    let Some(noted) = read(directory, journal, file_filter)? else {
        return Ok(());
    };
    for noted in &noted {
        cut_back(directory, noted).map_err(Error::io(&noted.name))?;
    }
    let note = note_name(journal);
    forget(directory, &note).map_err(Error::io(&note))
}

/// Returns the transaction that [`clean_up`] would apply.
///
/// # Errors
///
/// As [`clean_up`].
pub(super) fn undoing(
    directory: &dyn Directory,
    journal: &OsStr,
    file_filter: &FileFilter,
) -> Result<Transaction, Error> {
    let mut transaction = Transaction::new();
    for noted in read(directory, journal, file_filter)?.unwrap_or_default() {
        let io = Error::io(&noted.name);
        match directory.open(&noted.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            file => {
                let file = file.map_err(&io)?;
                if noted.was_appended_to(file.as_ref()).map_err(&io)? {
                    transaction.set_len(&noted.name, noted.len);
                }
            }
        }
    }
    Ok(transaction)
}

/// Reads the files of the base from the note; `None` if there is no note.
fn read(
    directory: &dyn Directory,
    journal: &OsStr,
    file_filter: &FileFilter,
) -> Result<Option<Vec<Noted>>, Error> {
    let note = note_name(journal);
    let file = match directory.open(&note) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(Error::of_journal(&note))?,
    };
    ensure_trusted(directory, &note, file.as_ref())?;
    let mut buffer = ReadBuffer::default();
    let bytes = file.read_up_to(0, MOST_BYTES, &mut buffer);
    let mut noted = decode(bytes.map_err(Error::io(&note))?).unwrap_or_default();
    noted.retain(|noted| file_filter.has(&noted.name));
    Ok(Some(noted))
}

fn cut_back(directory: &dyn Directory, noted: &Noted) -> io::Result<()> {
    let file = match directory.open_writable(&noted.name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    if !noted.was_appended_to(file.as_ref())? {
        return Ok(());
    }
    file.set_len(noted.len)?;
    file.sync()
}

/// Writes the note. When it returns, the note survives a power cut; on an error there
/// is none.
fn leave(directory: &dyn Directory, note: &OsStr, bytes: &[u8]) -> io::Result<()> {
    let file = match directory.create(note) {
        // One whose removal failed: nothing has been appended since.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            directory.remove(note)?;
            directory.create(note)?
        }
        file => file?,
    };
    let written = file.write_at(0, bytes);
    let left = written
        .and_then(|()| file.sync())
        .and_then(|()| directory.sync());
    if left.is_err() {
        // If this fails as well, the next stage does it.
        let _ = directory.remove(note);
    }
    left
}

fn forget(directory: &dyn Directory, note: &OsStr) -> io::Result<()> {
    match directory.remove(note) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => directory.sync(),
    }
}

/// Checksum of the first bytes of a file of length `len`.
fn head_of(file: &(impl Storage + ?Sized), len: u64) -> io::Result<u64> {
    let mut buffer = ReadBuffer::default();
    let len = usize::try_from(len).unwrap_or(HEAD_BYTES).min(HEAD_BYTES);
    Ok(xxh3_64(file.read_up_to(0, len, &mut buffer)?))
}

fn encode(files: &[Noted]) -> Vec<u8> {
    let mut note = MAGIC.to_vec();
    note.extend(VERSION.to_le_bytes());
    note.extend(u32::try_from(files.len()).unwrap_or(0).to_le_bytes());
    for file in files {
        let name = file.name.as_bytes();
        note.extend(file.len.to_le_bytes());
        note.extend(file.head.to_le_bytes());
        note.extend(u16::try_from(name.len()).unwrap_or(0).to_le_bytes());
        note.extend(name);
    }
    note.extend(xxh3_64(&note).to_le_bytes());
    note
}

/// Decodes a note; `None` if it is incomplete.
fn decode(note: &[u8]) -> Option<Vec<Noted>> {
    let (told, checksum) = note.split_at_checked(note.len().checked_sub(8)?)?;
    if checksum != xxh3_64(told).to_le_bytes() {
        return None;
    }
    let mut rest = told.strip_prefix(MAGIC)?;
    if take(&mut rest)? != VERSION.to_le_bytes() {
        return None;
    }
    let count = u32::from_le_bytes(take(&mut rest)?);
    let mut files = Vec::new();
    for _ in 0..count {
        let len = u64::from_le_bytes(take(&mut rest)?);
        let head = u64::from_le_bytes(take(&mut rest)?);
        let name_len = u16::from_le_bytes(take(&mut rest)?);
        let (name, after) = rest.split_at_checked(name_len.into())?;
        rest = after;
        let name = OsString::from_vec(name.to_vec());
        if !is_plain_name(&name) {
            return None;
        }
        files.push(Noted { name, len, head });
    }
    Some(files)
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_as_it_was_written_or_not_at_all() {
        let files: Vec<Noted> = ["a.cbh", "a.cbg"]
            .into_iter()
            .zip(5..)
            .map(|(name, len)| Noted {
                name: name.into(),
                len,
                head: len * 7,
            })
            .collect();
        let note = encode(&files);
        assert_eq!(decode(&note), Some(files));
        for end in 0..note.len() {
            assert_eq!(decode(&note[..end]), None);
            let mut other = note.clone();
            other[end] ^= 1;
            assert_eq!(decode(&other), None);
        }
        assert_eq!(note_name(OsStr::new(".x.cbfs-journal")), ".x.cbfs-stage");
    }

    #[test]
    fn a_file_is_cut_back_if_it_was_appended_to_and_may_be_gone() {
        let directory = crate::storage::MemoryDirectory::new();
        directory.put("long", b"head and more".to_vec());
        directory.put("other", b"hand and more".to_vec());
        directory.put("short", b"head".to_vec());
        let head = xxh3_64(b"head");
        for name in ["long", "other", "short", "gone"] {
            let name = OsString::from(name);
            let len = 4;
            cut_back(&directory, &Noted { name, len, head }).unwrap();
        }
        let files = directory.files();
        let texts = files.values().map(|bytes| str::from_utf8(bytes).unwrap());
        assert_eq!(texts.collect::<Vec<_>>(), ["head", "hand and more", "head"]);
        assert_eq!(files.len(), 3);
    }

    #[test]
    fn a_note_that_cannot_be_removed_is_no_success() {
        let directory = crate::storage::MemoryDirectory::new();
        let note = OsStr::new("note");
        directory.put("note", "");
        let fault = crate::storage::SimulatedFailure {
            errno: libc::EIO,
            writes_half: false,
            lasts: false,
        };
        directory.fail_at(directory.operations(), fault);
        assert!(forget(&directory, note).is_err());
        forget(&directory, note).unwrap();
        assert!(directory.files().is_empty());
        forget(&directory, note).unwrap();
    }
}
