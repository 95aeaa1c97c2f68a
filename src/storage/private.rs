//! Folders that only their owner can look into, and files that are opened with care.

use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use nix::unistd::geteuid;

/// Modes of such a directory.
const MODE: u32 = 0o700;

/// Makes `directory` and those above it that are missing, for the caller alone.
/// One that is there must be a directory of the caller, and no link: else
/// another user could have prepared it to lead elsewhere.
///
/// # Errors
///
/// `PermissionDenied` if it is of another user; errors of the system.
pub fn make_private_folder(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(MODE)
        .create(directory)?;
    let stat = fs::symlink_metadata(directory)?;
    if !stat.is_dir() || stat.uid() != geteuid().as_raw() {
        let what = format!("{}: not a directory of this user", directory.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    if stat.mode() & 0o777 != MODE {
        fs::set_permissions(directory, Permissions::from_mode(MODE))?;
    }
    Ok(())
}

/// Opens a plain file to read it; a link is not followed.
///
/// # Errors
///
/// `NotFound` if it is no regular file; errors of the system.
pub fn open_plain_file(path: &Path) -> io::Result<File> {
    let (file, stat) = open_at_once(path, libc::O_NOFOLLOW)?;
    if !stat.is_file() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(file)
}

/// Opens a regular file, also by a link; a pipe is not waited for.
///
/// # Errors
///
/// `InvalidData` if it is no regular file; errors of the system.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let (file, stat) = open_at_once(path, 0)?;
    if !stat.is_file() {
        let what = "it is no regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(file)
}

/// Opens a file to read it, without waiting for the writer of a pipe; the caller
/// checks the kind of file.
pub(super) fn open_at_once(path: &Path, flags: i32) -> io::Result<(File, Metadata)> {
    let mut options = File::options();
    let file = options
        .read(true)
        .custom_flags(flags | libc::O_NONBLOCK)
        .open(path)?;
    let stat = file.metadata()?;
    Ok((file, stat))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_can_look_into_it_and_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, link) = (folder.path().join("a/b"), folder.path().join("link"));
        make_private_folder(&inner).unwrap();
        fs::set_permissions(&inner, Permissions::from_mode(0o755)).unwrap();
        make_private_folder(&inner).unwrap();
        for directory in [folder.path().join("a"), inner.clone()] {
            assert_eq!(fs::metadata(directory).unwrap().mode() & 0o777, MODE);
        }
        std::os::unix::fs::symlink(&inner, &link).unwrap();
        let refused = make_private_folder(&link).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        fs::write(inner.join("file"), "x").unwrap();
        std::os::unix::fs::symlink(inner.join("file"), inner.join("to")).unwrap();
        assert!(open_plain_file(&inner.join("file")).is_ok());
        assert!(open_plain_file(&inner.join("to")).is_err());
        assert!(open_plain_file(&inner).is_err());
    }
}
