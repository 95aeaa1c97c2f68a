//! All files of a base, for an unchanged copy.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::cbh::{Error, Family, FileKind};
use crate::storage::{
    Directory, DiskDirectory, LeftOut, OpenFile, ReadBuffer, Stamp, Storage, Store, kind_of,
    names_in, next_file_number, split_name,
};

/// Maximum depth of nested media folders.
const MAX_DEPTH: usize = 16;

/// A file of a base.
#[derive(Debug)]
pub struct BaseFile {
    /// Path relative to the folder of the base, with `/` between folders.
    pub path: String,
    /// Content, with the saves in the journal.
    pub file: Box<dyn Storage>,
    /// Time of the last change.
    pub modified: Option<SystemTime>,
}

/// The files of a base, without ChessBase's search caches.
#[derive(Debug)]
pub struct BaseFiles {
    files: Vec<BaseFile>,
    left_out: LeftOut,
    store: Store,
}

impl BaseFiles {
    /// Opens all files of the base of the file `path`: the `.cbh` first,
    /// pictures of texts last.
    ///
    /// # Errors
    ///
    /// As [`Database::open`](crate::cbh::Database::open); [`Error::Unsupported`] for
    /// names that are not UTF-8.
    pub fn of(path: &Path) -> Result<BaseFiles, Error> {
        let store = Family::locate(path)?.store_with_journal()?;
        let family = Family::in_store(path, &store)?;
        let mut parts = BaseFiles {
            files: Vec::new(),
            left_out: family.spare_folders().to_vec(),
            store,
        };
        for name in names_of(&family, &mut parts.left_out)? {
            parts.add(&family, &name)?;
        }
        for folder in family.media_folders() {
            parts.add_folder(folder).map_err(about(folder))?;
        }
        Ok(parts)
    }

    fn add(&mut self, family: &Family, name: &OsStr) -> Result<(), Error> {
        let file = self.store.file(name).map_err(family.store_error())?;
        let Some(file) = file else {
            return Ok(());
        };
        let path = family.directory().join(name);
        let modified = fs::metadata(&path).and_then(|stat| stat.modified());
        self.files.push(BaseFile {
            path: text(name).map_err(about(&path))?,
            file: Box::new(file),
            modified: modified.ok(),
        });
        Ok(())
    }

    /// Adds the regular files in a media folder. Links are not followed.
    fn add_folder(&mut self, folder: &Path) -> io::Result<()> {
        let name = text(folder.file_name().unwrap_or_default())?;
        let mut open = vec![(folder.to_path_buf(), name, 0)];
        while let Some((folder, name, depth)) = open.pop() {
            let stat = folder.symlink_metadata()?;
            if !stat.is_dir() {
                self.left_out.push((folder, kind_of(stat.file_type())));
                continue;
            }
            let directory = DiskDirectory::open(&folder, "")?;
            let mut names = names_in(&folder)?;
            names.sort();
            for inner in names {
                let path = folder.join(&inner);
                let stat = path.symlink_metadata()?;
                let inner_name = format!("{name}/{}", text(&inner)?);
                if stat.is_dir() && depth < MAX_DEPTH {
                    open.push((path, inner_name, depth + 1));
                } else if stat.is_file() {
                    let file = MediaFile {
                        stamp: directory.open(&inner)?.stamp()?,
                        folder: folder.clone(),
                        name: inner,
                        number: next_file_number(),
                    };
                    self.files.push(BaseFile {
                        path: inner_name,
                        file: Box::new(file),
                        modified: stat.modified().ok(),
                    });
                } else {
                    self.left_out.push((path, kind_of(stat.file_type())));
                }
            }
        }
        Ok(())
    }

    /// The files.
    pub fn files(&self) -> &[BaseFile] {
        &self.files
    }

    /// What lies among the files and is not packed: links, pipes and the like.
    pub fn left_out(&self) -> &[(PathBuf, &'static str)] {
        &self.left_out
    }

    /// Checks that the files of the base have not changed since they were
    /// opened.
    ///
    /// # Errors
    ///
    /// An error if another program changed one; errors of the system.
    pub fn ensure_unchanged(&self) -> io::Result<()> {
        self.store.ensure_unchanged_outside()
    }
}

/// A file of media, opened by its path for each read: there may be more of them than a
/// process may have open.
#[derive(Debug)]
struct MediaFile {
    folder: PathBuf,
    name: OsString,
    /// As it was found.
    stamp: Stamp,
    /// Number of this file, unique in the process.
    number: u64,
}

impl MediaFile {
    fn opened(&self) -> io::Result<Box<dyn OpenFile>> {
        let file = DiskDirectory::open(&self.folder, "")?.open(&self.name)?;
        if file.stamp()? != self.stamp {
            return Err(io::Error::other("was changed while it was read"));
        }
        Ok(file)
    }
}

impl Storage for MediaFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.stamp.len)
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
        self.opened()?.fill(offset, len, bytes)
    }
}

/// Names of the files, those that cbfs reads first. What has such a name and is
/// no file goes to `left_out`.
fn names_of(family: &Family, left_out: &mut LeftOut) -> Result<Vec<OsString>, Error> {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_owned();
    let kinds = FileKind::ALL.into_iter();
    let mut names: Vec<OsString> = kinds
        .filter_map(|kind| family.path(kind))
        .map(name)
        .collect();
    let boosters: Vec<OsString> = family.boosters().iter().map(|path| name(path)).collect();
    let headers = family.default_path(FileKind::Headers);
    let mut others = names_in(family.directory()).map_err(about(family.directory()))?;
    others.sort();
    others.retain(|other| {
        let path = family.directory().join(other);
        let (stem, extension) = split_name(&path);
        let is_known = FileKind::ALL
            .iter()
            .any(|kind| kind.extension() == extension);
        let is_one = !is_known
            && family.has_stem(&stem)
            && Family::is_file_of(&headers, &path)
            && !boosters.contains(other);
        match path.symlink_metadata() {
            Ok(stat) if is_one && !stat.is_file() => {
                left_out.push((path, kind_of(stat.file_type())));
                false
            }
            stat => is_one && stat.is_ok(),
        }
    });
    names.append(&mut others);
    Ok(names)
}

fn text(name: &OsStr) -> io::Result<String> {
    let text = name.to_str().map(str::to_owned);
    let why = "has a name that is not UTF-8; rename it";
    text.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, why))
}

fn about(file: &Path) -> impl Fn(io::Error) -> Error {
    let file: PathBuf = file.to_path_buf();
    move |source| Error::Io {
        file: file.clone(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::base::copy_of_sample;

    #[test]
    fn a_copy_has_files_that_cbfs_does_not_read_and_no_search_caches() {
        let folder = copy_of_sample();
        for name in ["sample.cko", "sample.cib", "other.cko"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("sample.cpo")).unwrap();
        let files = BaseFiles::of(&folder.path().join("sample.cbh")).unwrap();
        let names: Vec<&str> = files.files().iter().map(|file| &*file.path).collect();
        assert_eq!(names[0], "sample.cbh");
        assert!(names.contains(&"sample.cko"), "{names:?}");
        assert!(!names.contains(&"sample.cib") && !names.contains(&"other.cko"));
        assert!(!names.contains(&"sample.cpo"));
        assert_eq!(files.left_out().len(), 1);
    }

    #[test]
    fn a_copy_has_what_lies_in_folders_of_media_but_no_links() {
        let folder = copy_of_sample();
        let path = folder.path().join("sample.cbh");
        let media = folder.path().join("sample.html");
        let mut deep = String::from("sample.html");
        for _ in 0..=MAX_DEPTH {
            deep += "/in";
        }
        fs::create_dir_all(folder.path().join(&deep)).unwrap();
        fs::write(media.join("in/b.jpg"), "a picture").unwrap();
        fs::write(media.join("a.jpg"), "another").unwrap();
        std::os::unix::fs::symlink("a.jpg", media.join("c.jpg")).unwrap();
        let files = BaseFiles::of(&path).unwrap();
        let names = files.files().iter().map(|file| &*file.path);
        let names: Vec<&str> = names.filter(|name| name.contains('/')).collect();
        assert_eq!(names, ["sample.html/a.jpg", "sample.html/in/b.jpg"]);
        let left_out: Vec<_> = files.left_out().iter().map(|(path, _)| path).collect();
        assert_eq!(left_out, [&media.join("c.jpg"), &folder.path().join(deep)]);
    }

    #[test]
    fn a_copy_is_told_which_file_another_program_changed() {
        let folder = copy_of_sample();
        let files = BaseFiles::of(&folder.path().join("sample.cbh")).unwrap();
        assert!(files.ensure_unchanged().is_ok());
        fs::write(folder.path().join("sample.cbp"), "changed").unwrap();
        let told = files.ensure_unchanged().unwrap_err().to_string();
        let wanted = "sample.cbp was changed by another program meanwhile; try again";
        assert!(told.ends_with(wanted), "{told}");
    }
}
