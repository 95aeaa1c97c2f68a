//! Files that belong together: they lie in one folder and share a name.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
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
pub fn split_name(path: &Path) -> (OsString, String) {
    let stem = path.file_stem().unwrap_or_default().to_owned();
    let extension = path.extension().unwrap_or_default();
    (stem, extension.to_string_lossy().to_lowercase())
}

/// The name of the file of a set that has this stem and extension.
pub fn join_name(stem: &OsStr, extension: &str) -> OsString {
    let mut name = stem.to_owned();
    name.push(".");
    name.push(extension);
    name
}

/// The longest name of a file, in bytes.
pub const MOST_NAME: usize = 255;

/// The first bytes of a name, at most so many; no character is cut.
pub fn cut_name(name: &OsStr, most: usize) -> OsString {
    let bytes = name.as_bytes();
    let mut end = most.min(bytes.len());
    let is_inside = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    while name.to_str().is_some() && end > 0 && is_inside(end) {
        end -= 1;
    }
    OsStr::from_bytes(bytes.get(..end).unwrap_or_default()).to_owned()
}

/// Whether two stems are equal but for letter case. Of names that are not
/// UTF-8 the case is not known: those are equal byte for byte or not at all.
pub fn is_same_stem(one: &OsStr, other: &OsStr) -> bool {
    one == other
        || match (one.to_str(), other.to_str()) {
            (Some(one), Some(other)) => one.to_lowercase() == other.to_lowercase(),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_are_equal_but_for_letter_case_if_the_case_is_known() {
        let name = |bytes: &'static [u8]| OsStr::from_bytes(bytes);
        assert!(is_same_stem(name(b"Base"), name(b"bASE")));
        assert!(is_same_stem(
            name("Übung".as_bytes()),
            name("ÜBUNG".as_bytes())
        ));
        assert!(is_same_stem(name(b"\xe9t\xe9"), name(b"\xe9t\xe9")));
        for other in [
            &b"\xe8t\xe8"[..],
            b"\xe9t\xe8",
            b"\xe9T\xe9",
            b"\xef\xbf\xbdt",
        ] {
            assert!(!is_same_stem(name(b"\xe9t\xe9"), name(other)));
        }
    }

    #[test]
    fn names_are_split_and_joined_byte_for_byte() {
        let name = OsStr::from_bytes(b"a.\xff.CBH");
        let (stem, extension) = split_name(Path::new(name));
        assert_eq!((stem.as_bytes(), &*extension), (&b"a.\xff"[..], "cbh"));
        assert_eq!(join_name(&stem, "cbg").as_bytes(), b"a.\xff.cbg");
    }
}
