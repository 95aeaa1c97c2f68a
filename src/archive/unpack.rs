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

/// Name of the hidden folder beside files that are unpacked into a folder.
const UNPACK: &str = "unpack";

/// Name of the note in it, once all files are whole and are moved to their place: the
/// archive that they are of, then what was left out, a line each.
const NOTE: &str = "placing";

/// No more of a note is read.
const MOST_NOTE_BYTES: u64 = 1 << 20;

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
    target.finish(&folders, &note_of(archive, &unpacked))?;
    Ok(unpacked)
}

/// Completes what an interrupted run began to move into the folder `to`, if there is
/// such a thing. Returns what was left out, a line each.
///
/// # Errors
///
/// [`Error::Refused`] if the files are of another archive, also when they are complete
/// now; [`Error::Io`].
pub fn complete_unpacked(archive: &Archive, to: &Path) -> Result<Option<Vec<String>>, Error> {
    let io = io_at(to);
    let hidden = WorkFolder::path_of(to, OsStr::new(UNPACK));
    match hidden.join(NOTE).symlink_metadata() {
        Err(error) if is_of_nothing(error.kind()) => return Ok(None),
        Err(error) => return Err(io(error)),
        Ok(_) => {}
    }
    let begun = WorkFolder::begin(to, OsStr::new(UNPACK));
    let mut begun = begun.map_err(|error| io(error.into()))?;
    // Else what cannot be moved now would go.
    begun.leave();
    let Some(note) = note_in(begun.path()).map_err(&io)? else {
        return Ok(None);
    };
    let inside = begun.path().join(INSIDE).symlink_metadata();
    // It goes before the note does.
    if !inside.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        let target = UnpackFolder::of(to, None, begun, DiskDirectory::folder)?;
        let moved = target.move_each();
        moved.map_err(|error| in_the_way(error, &hidden))?;
        target.sync_parent()?;
        begun = target.temporary;
    }
    begun.remove().map_err(io)?;
    let mut lines = note.lines();
    let is_same = lines.next() == Some(&origin_of(archive));
    let left_out: Vec<String> = lines.map(str::to_owned).collect();
    if is_same {
        return Ok(Some(left_out));
    }
    let but = if left_out.is_empty() {
        String::new()
    } else {
        format!(" but for {}", left_out.join(", "))
    };
    Err(Error::Refused {
        file: to.to_path_buf(),
        what: format!(
            "an interrupted run had unpacked another archive here; that is complete now{but}, and \
             nothing else was done"
        ),
    })
}

/// Makes an error of the system one of this file or folder.
fn io_at(file: &Path) -> impl Fn(io::Error) -> Error {
    |source| Error::Io {
        file: file.to_path_buf(),
        source,
    }
}

/// Whether there is nothing of a name, or no folder that could have it.
fn is_of_nothing(error: io::ErrorKind) -> bool {
    matches!(
        error,
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The error of a file that cannot be moved out of the hidden folder of an interrupted
/// run.
fn in_the_way(error: Error, hidden: &Path) -> Error {
    match error {
        Error::Io { file, source } if source.kind() == io::ErrorKind::AlreadyExists => {
            let hidden = hidden.display();
            let what = format!(
                "is there already, so that the files of an interrupted run stay in {hidden}; move \
                 either away"
            );
            Error::Refused { file, what }
        }
        error => error,
    }
}

/// The note that a killed run left in its hidden folder, if it left one.
fn note_in(hidden: &Path) -> io::Result<Option<String>> {
    let hidden = DiskDirectory::open(hidden, "")?;
    let file = match hidden.open(OsStr::new(NOTE)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let len = file.len()?.min(MOST_NOTE_BYTES);
    let mut buffer = ReadBuffer::default();
    let bytes = file.read_up_to(0, usize::try_from(len).unwrap_or(0), &mut buffer)?;
    Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
}

/// A line that tells an archive from others.
fn origin_of(archive: &Archive) -> String {
    let path = archive.path().canonicalize();
    let path = path.unwrap_or_else(|_| archive.path().to_path_buf());
    let changed = path.metadata().and_then(|stat| stat.modified()).ok();
    let size: u64 = archive.members.iter().map(ArchiveMember::size).sum();
    on_one_line(&format!("{} {size} {changed:?}", path.display()))
}

fn on_one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

fn note_of(archive: &Archive, unpacked: &Unpacked) -> String {
    let left_out = unpacked.left_out.iter();
    let left_out = left_out.map(|fault| on_one_line(&fault.what));
    let lines: Vec<String> = [origin_of(archive)].into_iter().chain(left_out).collect();
    lines.join("\n")
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
        let is_there = to.symlink_metadata().is_ok();
        let (parent, name) = if is_there {
            (to, None)
        } else {
            (folder_of(to), to.file_name().map(OsStr::to_owned))
        };
        let hidden = name.as_deref().unwrap_or(OsStr::new(UNPACK));
        let temporary = WorkFolder::begin_empty(parent, hidden);
        let temporary = temporary.map_err(|error| io_at(to)(error.into()))?;
        UnpackFolder::of(to, name, temporary, DiskDirectory::create_folder)
    }

    /// The files in `temporary`, in a folder that `inside` makes or opens.
    fn of(
        to: &Path,
        name: Option<OsString>,
        temporary: WorkFolder,
        inside: fn(&DiskDirectory, &OsStr) -> io::Result<DiskDirectory>,
    ) -> Result<UnpackFolder, Error> {
        let io = io_at(to);
        let parent = if name.is_some() { folder_of(to) } else { to };
        let outer = DiskDirectory::open(temporary.path(), "").map_err(&io)?;
        Ok(UnpackFolder {
            to: to.to_path_buf(),
            parent: DiskDirectory::open(parent, "").map_err(&io)?,
            name,
            temporary,
            inner: inside(&outer, OsStr::new(INSIDE)).map_err(&io)?,
            outer,
        })
    }

    fn io(&self, source: io::Error) -> Error {
        io_at(&self.to)(source)
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
    fn finish(&self, folders: &Folders, note: &str) -> Result<(), Error> {
        let io = |source| self.io(source);
        for path in folders.keys() {
            self.sync(path, folders).map_err(io)?;
        }
        self.inner.sync().map_err(io)?;
        if let Some(name) = &self.name {
            let inside = OsStr::new(INSIDE);
            let moved = self.outer.move_to_new(inside, &self.parent, name);
            moved.map_err(io)?;
        } else {
            self.write_note(note).map_err(io)?;
            self.move_each()?;
        }
        self.sync_parent()
    }

    fn sync_parent(&self) -> Result<(), Error> {
        self.parent.sync().map_err(|error| {
            let what = "all is unpacked, but may be gone after a power cut";
            self.io(io::Error::new(error.kind(), format!("{error}; {what}")))
        })
    }

    /// Notes that all files are whole, so that the next run goes on after this one is
    /// killed.
    fn write_note(&self, note: &str) -> io::Result<()> {
        let begun = OsStr::new("note");
        let mut file = self.outer.create_file(begun)?;
        file.write_all(note.as_bytes())?;
        file.sync_all()?;
        self.outer.rename(begun, OsStr::new(NOTE))?;
        self.outer.sync()
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::SystemTime;

    use super::*;
    use crate::archive::{Options, PackInput, pack};
    use crate::storage::MemoryFile;

    const NAMES: [&str; 3] = ["base.cba", "base.cbg", "base.cbh"];

    fn packed(path: &Path) -> Arc<Archive> {
        let files = NAMES.map(|name| MemoryFile::from(name.as_bytes().to_vec()));
        let inputs = NAMES.iter().zip(&files).map(|(name, file)| PackInput {
            path: (*name).to_owned(),
            file,
            modified: Some(SystemTime::UNIX_EPOCH),
        });
        let inputs: Vec<_> = inputs.collect();
        let options = Options::default();
        pack(path, &inputs, &options, None, &mut |_| true, &|| Ok(())).unwrap();
        Archive::open(path, &options).unwrap()
    }

    /// Unpacks, and is killed when the first file is moved.
    fn begin_to_place(archive: &Arc<Archive>, to: &Path, left_out: &str) {
        let mut target = UnpackFolder::begin(to).unwrap();
        for (number, member) in archive.members.iter().enumerate() {
            let (folder, name) = target.place(member.path(), &mut Folders::new()).unwrap();
            write(archive, number, member, &folder, &name, &mut |_| true).unwrap();
        }
        let mut unpacked = Unpacked::default();
        unpacked
            .left_out
            .extend((!left_out.is_empty()).then(|| ArchiveDefect::new(7, left_out.to_owned())));
        target.write_note(&note_of(archive, &unpacked)).unwrap();
        let first = OsStr::new(NAMES[0]);
        target
            .inner
            .move_to_new(first, &target.parent, first)
            .unwrap();
        target.temporary.leave();
    }

    #[test]
    fn files_that_a_killed_run_began_to_place_are_completed() {
        let place = tempfile::tempdir().unwrap();
        let archive = packed(&place.path().join("one.cbv"));
        let other = packed(&place.path().join("other.cbv"));
        for (number, (completed_by, left_out)) in [(&archive, ""), (&archive, "a b"), (&other, "")]
            .into_iter()
            .enumerate()
        {
            let to = place.path().join(number.to_string());
            fs::create_dir(&to).unwrap();
            assert_eq!(complete_unpacked(&archive, &to).unwrap(), None);
            begin_to_place(&archive, &to, left_out);
            // Nothing is lost if a name is taken meanwhile.
            fs::write(to.join(NAMES[1]), "taken").unwrap();
            complete_unpacked(completed_by, &to).unwrap_err();
            fs::remove_file(to.join(NAMES[1])).unwrap();
            let completed = complete_unpacked(completed_by, &to);
            if Arc::ptr_eq(completed_by, &other) {
                let told = completed.unwrap_err().to_string();
                assert!(told.contains("another archive"), "{told}");
            } else {
                let told: Vec<_> = Some(left_out)
                    .filter(|it| !it.is_empty())
                    .into_iter()
                    .collect();
                assert_eq!(completed.unwrap().unwrap(), told);
            }
            assert_eq!(fs::read_dir(&to).unwrap().count(), NAMES.len());
            for name in NAMES {
                assert_eq!(fs::read(to.join(name)).unwrap(), name.as_bytes());
            }
            assert_eq!(complete_unpacked(&archive, &to).unwrap(), None);
        }
    }
}
