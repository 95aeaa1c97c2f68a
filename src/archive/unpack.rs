//! Unpacks an archive.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::block::BLOCK_BYTES;
use super::{Archive, ArchiveDefect, ArchiveMember, Error};
use crate::storage::{
    Directory, DiskDirectory, ReadBuffer, Storage, WorkFolder, folder_of, make_as_private,
    names_in, split_name,
};

/// Number of blocks decoded per write.
const STRETCH: usize = 8;

/// More folders are not made: a hostile archive has fifty for each of its files.
const MOST_FOLDERS: usize = 1_000;

/// Name of the new folder inside of the temporary folder.
const INSIDE: &str = "new";

/// The outcome of unpacking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Number of files written.
    pub files: usize,
    /// The damaged members that were left out, with the reason.
    pub left_out: Vec<ArchiveDefect>,
}

/// Unpacks all members to the folder `to`, which is made if it does not exist;
/// on an error, none. Only new files are made, and only in that folder. With
/// `skips_damaged`, damaged members are left out and reported. `progress` is
/// called with the number of bytes written since the last call; if it returns
/// `false`, unpacking ends with an error of the kind `Interrupted`.
///
/// # Errors
///
/// [`Error::Refused`] if a member is damaged or a file exists; [`Error::Io`].
pub fn unpack(
    archive: &Arc<Archive>,
    to: &Path,
    skips_damaged: bool,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Unpacked, Error> {
    let mut unpacked = Unpacked {
        files: 0,
        left_out: archive.left_out.clone(),
    };
    if let Some(fault) = unpacked.left_out.first().filter(|_| !skips_damaged) {
        return Err(damaged(archive, &fault.what));
    }
    archive.file.expect_sequential_reads(true);
    let target = UnpackFolder::begin(to)?;
    target.ensure_free(archive)?;
    let mut folders = Folders::new();
    for (number, member) in archive.members.iter().enumerate() {
        let (folder, name) = target.place(member.path(), &mut folders)?;
        match write(archive, number, member, &folder, &name, progress) {
            Ok(()) => unpacked.files += 1,
            Err(error) if is_damage(&error) => {
                let what = format!("{}: {error}", member.path());
                if !skips_damaged {
                    return Err(damaged(archive, &what));
                }
                let faults = &mut unpacked.left_out;
                faults.push(ArchiveDefect::new(member.offset(), what));
                folder.remove(&name).map_err(|source| Error::Io {
                    file: to.join(member.path()),
                    source,
                })?;
            }
            Err(source) => {
                return Err(Error::Io {
                    file: to.join(member.path()),
                    source,
                });
            }
        }
    }
    target.finish(&folders)?;
    Ok(unpacked)
}

fn damaged(archive: &Archive, what: &str) -> Error {
    Error::Refused {
        file: archive.path().to_path_buf(),
        what: format!(
            "{what}; nothing was unpacked; `--skip-damaged` unpacks all members that are whole"
        ),
    }
}

fn is_damage(error: &io::Error) -> bool {
    let is_ours = error.raw_os_error().is_none();
    let kinds = [io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof];
    is_ours && kinds.contains(&error.kind())
}

fn write(
    archive: &Arc<Archive>,
    number: usize,
    member: &ArchiveMember,
    folder: &DiskDirectory,
    name: &OsStr,
    progress: &mut dyn FnMut(u64) -> bool,
) -> io::Result<()> {
    let mut out = folder.create_file(name)?;
    make_as_private(&out, archive.path())?;
    let Some(file) = archive.open_member(number) else {
        return Ok(());
    };
    let mut buffer = ReadBuffer::default();
    let mut written = 0;
    while written < member.size() {
        let bytes = file.read_up_to(written, STRETCH * BLOCK_BYTES, &mut buffer)?;
        out.write_all(bytes)?;
        written += bytes.len() as u64;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if !progress(bytes.len() as u64) {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
    if let Some(modified) = member.modified() {
        out.set_modified(modified)?;
    }
    out.sync_all()
}

/// The name of each folder that was made, by its path in lower case with `/` at the
/// end. None stays open: there may be more than a process may have open.
type Folders = HashMap<String, OsString>;

/// Destination of the members: a temporary folder, whose content is moved to
/// its place at the end.
struct UnpackFolder {
    to: PathBuf,
    /// The folder that contains the destination, or is the destination.
    parent: DiskDirectory,
    /// Name of the destination in that folder; `None` if it is the folder
    /// itself.
    name: Option<OsString>,
    /// Hidden folder, removed with its remaining content when dropped.
    temporary: WorkFolder,
    outer: DiskDirectory,
    inner: DiskDirectory,
}

impl UnpackFolder {
    fn begin(to: &Path) -> Result<UnpackFolder, Error> {
        let io = |source| Error::Io {
            file: to.to_path_buf(),
            source,
        };
        let is_there = to.symlink_metadata().is_ok();
        let (parent, name) = if is_there {
            (to, None)
        } else {
            (folder_of(to), to.file_name().map(OsStr::to_owned))
        };
        let hidden = name.as_deref().unwrap_or(OsStr::new("unpack"));
        let temporary = WorkFolder::begin_empty(parent, hidden);
        let temporary = temporary.map_err(|error| io(error.into()))?;
        let outer = DiskDirectory::open(temporary.path(), "").map_err(io)?;
        Ok(UnpackFolder {
            to: to.to_path_buf(),
            parent: DiskDirectory::open(parent, "").map_err(io)?,
            name,
            temporary,
            inner: outer.create_folder(OsStr::new(INSIDE)).map_err(io)?,
            outer,
        })
    }

    fn io(&self, source: io::Error) -> Error {
        Error::Io {
            file: self.to.clone(),
            source,
        }
    }

    /// Checks that no existing file or folder has a name of a new one, ignoring
    /// letter case.
    fn ensure_free(&self, archive: &Archive) -> Result<(), Error> {
        if self.name.is_some() {
            return Ok(());
        }
        let lower = |name: &str| name.to_lowercase();
        let first = |path: &str| path.split('/').next().map(lower).unwrap_or_default();
        let new_names: HashSet<String> =
            archive.members.iter().map(|it| first(it.path())).collect();
        let names = names_in(&self.to).map_err(|source| self.io(source))?;
        for name in names {
            if new_names.contains(&lower(&name.to_string_lossy())) {
                return Err(Error::Refused {
                    file: self.to.join(name),
                    what: "exists already and is not overwritten; unpack into a new folder"
                        .to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Returns the folder and the file name of a path. Makes the folders that are
    /// not among these.
    fn place(&self, path: &str, folders: &mut Folders) -> Result<(DiskDirectory, OsString), Error> {
        let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folder = self.inner.clone();
        let mut so_far = String::new();
        for part in parents.split('/').filter(|part| !part.is_empty()) {
            so_far.push_str(&part.to_lowercase());
            so_far.push('/');
            let opened = if let Some(made) = folders.get(&so_far) {
                folder.folder(made)
            } else if folders.len() >= MOST_FOLDERS {
                return Err(Error::Refused {
                    file: self.to.clone(),
                    what: format!(
                        "would get more than {MOST_FOLDERS} folders; nothing was unpacked"
                    ),
                });
            } else {
                folders.insert(so_far.clone(), OsString::from(part));
                folder.create_folder(OsStr::new(part))
            };
            folder = opened.map_err(|source| Error::Io {
                file: self.to.join(parents),
                source,
            })?;
        }
        Ok((folder, OsString::from(name)))
    }

    /// Writes the entries of a folder that was made to the disk.
    fn sync(&self, path: &str, folders: &Folders) -> io::Result<()> {
        let mut folder = self.inner.clone();
        for (end, _) in path.match_indices('/') {
            let made = path.get(..=end).and_then(|path| folders.get(path));
            folder = folder.folder(made.ok_or(io::ErrorKind::NotFound)?)?;
        }
        folder.sync()
    }

    /// Moves everything to its place.
    fn finish(self, folders: &Folders) -> Result<(), Error> {
        let io = |source| self.io(source);
        for path in folders.keys() {
            self.sync(path, folders).map_err(io)?;
        }
        self.inner.sync().map_err(io)?;
        match &self.name {
            Some(name) => {
                let inside = OsStr::new(INSIDE);
                let moved = self.outer.move_to_new(inside, &self.parent, name);
                moved.map_err(io)?;
            }
            None => self.move_each()?,
        }
        self.parent.sync().map_err(|error| {
            let what = "all is unpacked, but may be gone after a power cut";
            io(io::Error::new(error.kind(), format!("{error}; {what}")))
        })
    }

    /// Moves each file and folder. If one cannot be moved, those already moved
    /// are moved back.
    fn move_each(&self) -> Result<(), Error> {
        let names = names_in(&self.temporary.path().join(INSIDE));
        let mut names = names.map_err(|source| self.io(source))?;
        // Without the header file no program takes the folder for a base, so it
        // comes last.
        let is_headers = |name: &OsString| split_name(Path::new(name)).1 == "cbh";
        names.sort_by_key(|name| (is_headers(name), name.clone()));
        for (at, name) in names.iter().enumerate() {
            let Err(source) = self.inner.move_to_new(name, &self.parent, name) else {
                continue;
            };
            for moved in names.iter().take(at) {
                if let Err(error) = self.parent.move_to_new(moved, &self.inner, moved) {
                    log::error!("{}: {error}", self.to.join(moved).display());
                }
            }
            return Err(Error::Io {
                file: self.to.join(name),
                source,
            });
        }
        Ok(())
    }
}
