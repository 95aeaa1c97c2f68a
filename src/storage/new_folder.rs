//! A new folder, made whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::folder::{folder_of, sync_or_move_back};
use super::work_folder::WorkFolder;

/// Makes the folder `to` with what `write` writes into the folder that it is
/// given; on an error, nothing. An empty folder at `to` is replaced.
///
/// # Errors
///
/// `AlreadyExists` if anything else is at `to`; that of `write`; errors of the
/// system.
pub fn make_folder<T>(to: &Path, write: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let name = to.file_name();
    let name = name.ok_or_else(|| io::Error::other("this is no name of a new folder"))?;
    ensure_free(to)?;
    let parent = folder_of(to);
    let work = WorkFolder::begin_empty(parent, name)?;
    let root = work.path().join("new");
    fs::create_dir(&root)?;
    let written = write(&root)?;
    // One pass for all files: each by itself would take ten times as long.
    nix::unistd::syncfs(File::open(&root)?)?;
    // A folder replaces an empty folder, and nothing else.
    fs::rename(&root, to)?;
    sync_or_move_back(&root, to)?;
    Ok(written)
}

/// Rejects a path at which there is something other than an empty folder.
fn ensure_free(to: &Path) -> io::Result<()> {
    let Ok(found) = fs::symlink_metadata(to) else {
        return Ok(());
    };
    let what = if !found.is_dir() {
        "is no folder"
    } else if fs::read_dir(to)?.next().is_some() {
        "is not empty"
    } else {
        return Ok(());
    };
    let what = format!("it is there already, and {what}; name a new folder");
    Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let count = || fs::read_dir(place.path()).unwrap().count();
        fs::create_dir(at("empty")).unwrap();
        fs::create_dir_all(at("full/mine")).unwrap();
        fs::write(at("file"), "mine").unwrap();
        std::os::unix::fs::symlink(at("empty"), at("link")).unwrap();
        let write = |root: &Path| fs::write(root.join("new"), "made");
        for name in ["full", "file", "link", "file/..", "nowhere/new"] {
            assert!(make_folder(&at(name), write).is_err(), "{name}");
        }
        for (name, what) in [("full", "is not empty"), ("file", "is no folder")] {
            let error = make_folder(&at(name), |_| -> io::Result<()> { panic!("{name}") });
            let told = error.unwrap_err().to_string();
            assert!(told.contains(what), "{told}");
        }
        let fail = |root: &Path| write(root).and(Err::<(), _>(io::Error::other("full")));
        assert!(make_folder(&at("not"), fail).is_err());
        assert_eq!(count(), 4);
        assert_eq!(fs::read(at("file")).unwrap(), b"mine");
        for name in ["empty", "made"] {
            make_folder(&at(name), write).unwrap();
            assert_eq!(fs::read(at(name).join("new")).unwrap(), b"made");
        }
        assert_eq!(count(), 5);
    }
}
