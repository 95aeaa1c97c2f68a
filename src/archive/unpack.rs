//! Taking an archive apart.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::block::BLOCK_BYTES;
use super::{Archive, Error, Fault, Member};
use crate::storage::{
    Directory, DiskDirectory, ReadBuffer, Storage, folder_of, names_in, split_name,
};

/// Blocks that are written at once.
const STRETCH: usize = 8;

/// The folder in the folder of ours.
const INSIDE: &str = "new";

/// Outcome of unpacking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// How many files were written.
    pub files: usize,
    /// Reasons why members were left out.
    pub left_out: Vec<Fault>,
}

/// Writes all members to the folder `to`, which is made if it is not there;
/// all of them or, on an error, none. Only new files are made, and only in
/// that folder. If `skips_damaged`, what is damaged is left out, and told.
/// `progress` is given the number of written bytes again and again; when it
/// says `false`, that is the end, with an error of the kind `Interrupted`.
///
/// # Errors
///
/// [`Error::Refused`] if a member is damaged or a name taken; [`Error::Io`].
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
    let target = Target::begin(to)?;
    target.ensure_free(archive)?;
    let mut folders = HashMap::new();
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
                faults.push(Fault::new(member.offset(), what));
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
    let folders: Vec<DiskDirectory> = folders.into_values().collect();
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
    member: &Member,
    folder: &DiskDirectory,
    name: &OsStr,
    progress: &mut dyn FnMut(u64) -> bool,
) -> io::Result<()> {
    let mut out = folder.create_file(name)?;
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

/// Where members go: a folder of ours, whose content is moved to its place in
/// the end.
struct Target {
    to: PathBuf,
    /// The folder that has, or will have, what is unpacked.
    above: DiskDirectory,
    /// The name in that folder of all that is unpacked; `None` if it goes into
    /// the folder itself.
    name: Option<OsString>,
    /// Removed with all that is left in it.
    ours: tempfile::TempDir,
    outer: DiskDirectory,
    inner: DiskDirectory,
}

impl Target {
    fn begin(to: &Path) -> Result<Target, Error> {
        let io = |source| Error::Io {
            file: to.to_path_buf(),
            source,
        };
        let is_there = to.symlink_metadata().is_ok();
        let (above, name) = if is_there {
            (to, None)
        } else {
            (folder_of(to), to.file_name().map(OsStr::to_owned))
        };
        let mut builder = tempfile::Builder::new();
        let ours = builder.prefix(".cbfs-unpack-").tempdir_in(above);
        // The name of the folder of ours says nothing to anybody.
        let ours = ours.map_err(|error| io(io::Error::from(error.kind())))?;
        let outer = DiskDirectory::open(ours.path(), "").map_err(io)?;
        Ok(Target {
            to: to.to_path_buf(),
            above: DiskDirectory::open(above, "").map_err(io)?,
            name,
            ours,
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

    /// Nothing that is there already may have a name of ours, in any letter
    /// case.
    fn ensure_free(&self, archive: &Archive) -> Result<(), Error> {
        if self.name.is_some() {
            return Ok(());
        }
        let lower = |name: &str| name.to_lowercase();
        let first = |path: &str| path.split('/').next().map(lower).unwrap_or_default();
        let ours: Vec<String> = archive.members.iter().map(|it| first(it.path())).collect();
        let names = names_in(&self.to).map_err(|source| self.io(source))?;
        for name in names {
            if ours.contains(&lower(&name.to_string_lossy())) {
                return Err(Error::Refused {
                    file: self.to.join(name),
                    what: "is there already, and is not written over; unpack into a new folder"
                        .to_owned(),
                });
            }
        }
        Ok(())
    }

    /// The folder and the name of a path.
    fn place(
        &self,
        path: &str,
        folders: &mut HashMap<String, DiskDirectory>,
    ) -> Result<(DiskDirectory, OsString), Error> {
        let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folder = self.inner.clone();
        let mut so_far = String::new();
        for part in parents.split('/').filter(|part| !part.is_empty()) {
            so_far.push_str(&part.to_lowercase());
            so_far.push('/');
            if let Some(known) = folders.get(&so_far) {
                folder = known.clone();
                continue;
            }
            let made = folder.create_folder(OsStr::new(part));
            folder = made.map_err(|source| Error::Io {
                file: self.to.join(parents),
                source,
            })?;
            folders.insert(so_far.clone(), folder.clone());
        }
        Ok((folder, OsString::from(name)))
    }

    /// Moves all to its place.
    fn finish(self, folders: &[DiskDirectory]) -> Result<(), Error> {
        let io = |source| self.io(source);
        for folder in folders.iter().chain([&self.inner]) {
            folder.sync().map_err(io)?;
        }
        match &self.name {
            Some(name) => {
                let inside = OsStr::new(INSIDE);
                let moved = self.outer.move_to_new(inside, &self.above, name);
                moved.map_err(io)?;
            }
            None => self.move_each()?,
        }
        self.above.sync().map_err(io)
    }

    /// Moves each file and folder; those that were moved are moved back if one
    /// cannot be.
    fn move_each(&self) -> Result<(), Error> {
        let names = names_in(&self.ours.path().join(INSIDE));
        let mut names = names.map_err(|source| self.io(source))?;
        // As long as this is missing nothing is taken for a base.
        let is_headers = |name: &OsString| split_name(Path::new(name)).1 == "cbh";
        names.sort_by_key(|name| (is_headers(name), name.clone()));
        for (at, name) in names.iter().enumerate() {
            let Err(source) = self.inner.move_to_new(name, &self.above, name) else {
                continue;
            };
            for moved in names.iter().take(at) {
                if let Err(error) = self.above.move_to_new(moved, &self.inner, moved) {
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
