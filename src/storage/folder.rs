//! Files that belong together: they lie in one folder and share a name.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
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
