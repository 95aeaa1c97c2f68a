//! Files of our own that are being written, and those of processes that were killed
//! meanwhile.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tempfile::NamedTempFile;

/// How their names end.
const SUFFIX: &str = ".unfinished";

/// So often another process may take ours for one that was left.
const TRIES: usize = 8;

/// A new file in a folder of our own, which goes if it is not given a name. Those
/// that nobody writes any more are cleared.
///
/// # Errors
///
/// Errors of the system.
pub fn new_own(folder: &Path) -> io::Result<NamedTempFile> {
    clear(folder);
    for _ in 0..TRIES {
        let mut names = tempfile::Builder::new();
        let new = names.prefix("new-").suffix(SUFFIX).tempfile_in(folder)?;
        // Whoever writes one holds it.
        new.as_file().lock()?;
        if new.as_file().metadata()?.nlink() > 0 {
            return Ok(new);
        }
    }
    Err(io::Error::other("new files vanish there"))
}

fn clear(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let is_one = name.as_encoded_bytes().ends_with(SUFFIX.as_bytes());
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_one
            && is_file
            && let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
            && let Err(error) = fs::remove_file(&path)
        {
            log::debug!("{}: {error}", path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unfinished_files_without_a_writer_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        for name in ["new-x.unfinished", "x.positions", "unfinished"] {
            fs::write(place.join(name), name).unwrap();
        }
        fs::create_dir(place.join("d.unfinished")).unwrap();
        let one = new_own(place).unwrap();
        let other = new_own(place).unwrap();
        assert!(one.path().exists() && other.path().exists());
        assert!(!place.join("new-x.unfinished").exists());
        assert_eq!(fs::read_dir(place).unwrap().count(), 5);
        let left = one.keep().unwrap();
        drop(left.0);
        drop(new_own(place).unwrap());
        assert!(!left.1.exists());
        assert!(other.path().exists());
    }
}
