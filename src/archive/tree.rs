//! The members of an archive as a read-only folder.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use super::block::BLOCK_BYTES;
use super::{Archive, ArchiveMember};
use crate::storage::{
    Directory, FolderTree, OpenFile, ReadBuffer, Stamp, Storage, WritableFile, next_file_number,
};

/// A folder in an archive, or its root.
struct ArchiveFolder {
    archive: Arc<Archive>,
    /// Prefix of the paths of its files: empty, or with `/` at the end.
    prefix: String,
}

impl fmt::Debug for ArchiveFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.archive.path().join(&self.prefix);
        f.debug_tuple("Folder").field(&place).finish()
    }
}

pub(super) fn root(archive: &Arc<Archive>) -> Arc<dyn FolderTree> {
    Arc::new(ArchiveFolder {
        archive: Arc::clone(archive),
        prefix: String::new(),
    })
}

fn read_only() -> io::Error {
    let what = "an archive is not changed; unpack it with `cbfs unpack`";
    io::Error::new(io::ErrorKind::ReadOnlyFilesystem, what)
}

impl ArchiveFolder {
    fn number_of(&self, name: &OsStr) -> Option<usize> {
        let name = name.to_str().filter(|name| !name.contains('/'))?;
        let path = format!("{}{name}", self.prefix);
        self.archive.by_path.get(&path).copied()
    }

    /// The first path in or below it that is not before `start`, relative to it.
    fn first_from(&self, start: &str) -> Option<&str> {
        let start = format!("{}{start}", self.prefix);
        let (path, _) = self.archive.by_path.range(start..).next()?;
        path.strip_prefix(&self.prefix)
    }
}

impl Directory for ArchiveFolder {
    fn open(&self, name: &OsStr) -> io::Result<Box<dyn OpenFile>> {
        let number = self.number_of(name);
        let file = number.and_then(|number| self.archive.open_member(number));
        Ok(Box::new(file.ok_or(io::ErrorKind::NotFound)?))
    }

    fn open_writable(&self, _name: &OsStr) -> io::Result<Box<dyn WritableFile>> {
        Err(read_only())
    }

    fn create(&self, _name: &OsStr) -> io::Result<Box<dyn WritableFile>> {
        Err(read_only())
    }

    fn remove(&self, _name: &OsStr) -> io::Result<()> {
        Err(read_only())
    }

    fn rename(&self, _from: &OsStr, _to: &OsStr) -> io::Result<()> {
        Err(read_only())
    }

    fn stamp(&self, name: &OsStr) -> io::Result<Option<Stamp>> {
        let member = self.number_of(name);
        let member = member.and_then(|number| self.archive.members.get(number));
        member
            .map(|member| stamp_of(&self.archive, member))
            .transpose()
    }

    fn ensure_trusted(&self, _stamp: &Stamp) -> io::Result<()> {
        Err(read_only())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

impl FolderTree for ArchiveFolder {
    fn names(&self) -> Vec<OsString> {
        let mut names = BTreeSet::new();
        let mut start = String::new();
        while let Some(path) = self.first_from(&start) {
            // In the order of bytes, the first after all that begins with "NAME/" is
            // "NAME0", and after the file NAME it is NAME with a zero byte.
            let (name, after) = match path.split_once('/') {
                Some((folder, _)) => (folder, '0'),
                None => (path, '\0'),
            };
            start = format!("{name}{after}");
            names.insert(OsString::from(name));
        }
        names.into_iter().collect()
    }

    fn folder(&self, name: &OsStr) -> Option<Arc<dyn FolderTree>> {
        let name = name
            .to_str()
            .filter(|name| !name.is_empty() && !name.contains('/'))?;
        let start = format!("{name}/");
        let first = self.first_from(&start)?;
        first.starts_with(&start).then(|| {
            let folder = ArchiveFolder {
                archive: Arc::clone(&self.archive),
                prefix: format!("{}{start}", self.prefix),
            };
            Arc::new(folder) as Arc<dyn FolderTree>
        })
    }
}

/// Stamp of a member. It changes when the stamp of the archive changes.
fn stamp_of(archive: &Archive, member: &ArchiveMember) -> io::Result<Stamp> {
    let now = archive.file.stamp()?;
    let modified = member.modified().map_or(now.modified, seconds);
    Ok(Stamp {
        len: member.size(),
        modified,
        // A file that is overwritten keeps its inode number.
        changed: if now == archive.stamp {
            archive.stamp.changed
        } else {
            now.changed
        },
        ..archive.stamp
    })
}

fn seconds(time: SystemTime) -> (i64, i64) {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    (seconds, i64::from(since.subsec_nanos()))
}

/// An open member. Its bytes are decoded when they are read.
#[derive(Debug)]
pub(super) struct MemberFile {
    archive: Arc<Archive>,
    member: usize,
    /// Number of this open file, unique in the process.
    number: u64,
}

impl MemberFile {
    pub(super) fn new(archive: &Arc<Archive>, member: usize) -> MemberFile {
        MemberFile {
            archive: Arc::clone(archive),
            member,
            number: next_file_number(),
        }
    }

    fn member(&self) -> io::Result<&ArchiveMember> {
        let member = self.archive.members.get(self.member);
        member.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Storage for MemberFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.member()?.size())
    }

    fn read_up_to<'a>(
        &'a self,
        offset: u64,
        len: usize,
        buffer: &'a mut ReadBuffer,
    ) -> io::Result<&'a [u8]> {
        buffer.read_filled(self, self.number, offset, len)
    }

    fn fill(&self, offset: u64, len: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
        let member = self.member()?;
        bytes.clear();
        while bytes.len() < len {
            let at = offset.saturating_add(bytes.len() as u64);
            if at >= member.size() {
                break;
            }
            let block = self.archive.block(member, at / BLOCK_BYTES as u64)?;
            let from = usize::try_from(at % BLOCK_BYTES as u64).unwrap_or(0);
            let part = block.get(from..).unwrap_or_default();
            if part.is_empty() {
                break;
            }
            let wanted = part.get(..len - bytes.len()).unwrap_or(part);
            bytes.extend_from_slice(wanted);
        }
        Ok(())
    }
}

impl OpenFile for MemberFile {
    fn stamp(&self) -> io::Result<Stamp> {
        stamp_of(&self.archive, self.member()?)
    }
}
