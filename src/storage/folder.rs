//! Files that belong together: they lie in one folder and share a name.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The folder that a path names a file of.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// The names of all that lies in a folder, in no order.
///
/// # Errors
///
/// The system's.
pub fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    let entries = fs::read_dir(folder)?;
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

/// Copies the regular file `from`, which is no link, to a new file `to`.
///
/// # Errors
///
/// `AlreadyExists` if the name is taken, `InvalidInput` if there is no such
/// file; the system's.
pub fn copy_plain_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut options = File::options();
    // Neither a link is followed nor a pipe waited for.
    options
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let mut from = options.open(from)?;
    if !from.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    io::copy(&mut from, &mut File::create_new(to)?)?;
    Ok(())
}

/// The stem of a name, which the files of a set share but for letter case,
/// and the extension in lower case.
pub fn split_name(path: &Path) -> (String, String) {
    let text = |part: Option<&OsStr>| {
        part.map(|part| part.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    (
        text(path.file_stem()),
        text(path.extension()).to_lowercase(),
    )
}
