//! Helpers for files that belong together: same folder, same name.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, FileType};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

/// Returns the folder of the file `path`.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Names of all entries of a folder, in no order.
///
/// # Errors
///
/// Errors of the system.
pub fn names_in(folder: &Path) -> io::Result<Vec<OsString>> {
    let entries = fs::read_dir(folder)?;
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

/// Copies the regular file `from`, which must not be a link, to a new file
/// `to`.
///
/// # Errors
///
/// `AlreadyExists` if `to` exists, `InvalidInput` if `from` is no regular file;
/// errors of the system.
pub fn copy_plain_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut options = File::options();
    // Links are not followed, and pipes do not block.
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

/// What lies among the files of a base and is not copied, and what it is.
pub type LeftOut = Vec<(PathBuf, &'static str)>;

/// What a folder is that is not looked into, for messages.
pub const TOO_DEEP: &str = "a folder too deep in others";

/// What something is that is no regular file, for messages.
pub fn kind_of(kind: FileType) -> &'static str {
    if kind.is_symlink() {
        "a link"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_dir() {
        TOO_DEEP
    } else {
        "no regular file"
    }
}

/// Returns when all creations, removals and renames so far in a folder survive a power
/// cut, as far as its file system can say.
///
/// # Errors
///
/// Errors of the system.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    sync_open_folder(&File::open(path)?)
}

/// Returns when something that was moved to `to` survives a power cut. After an error it
/// is back at `from`: who is told of one finds nothing there, and can try again.
///
/// # Errors
///
/// Errors of the system.
pub fn sync_or_move_back(from: &Path, to: &Path) -> io::Result<()> {
    sync_folder(folder_of(to)).or_else(|error| {
        fs::rename(to, from)?;
        Err(error)
    })
}

/// As [`sync_folder`], of an open folder.
pub(super) fn sync_open_folder(folder: &File) -> io::Result<()> {
    match folder.sync_all() {
        // Some file systems have no such operation, as those by which virtual machines
        // share folders: there is nothing to wait for.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        done => done,
    }
}

/// Splits a file name into the stem, which the files of a set share except for
/// letter case, and the extension in lower case.
pub fn split_name(path: &Path) -> (OsString, String) {
    let stem = path.file_stem().unwrap_or_default().to_owned();
    let extension = path.extension().unwrap_or_default();
    (stem, extension.to_string_lossy().to_lowercase())
}

/// A name for what is kept elsewhere of the files that a path stands for: their
/// stem, for people, and a digest of the whole path.
pub fn name_elsewhere(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem: String = stem.chars().take(40).collect();
    let hash = xxh3_64(path.as_os_str().as_bytes());
    format!("{stem}-{hash:016x}")
}

/// As [`name_elsewhere`], the same whichever file of a set is named.
pub fn name_of_set_elsewhere(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    name_elsewhere(&whole.with_extension(""))
}

/// Writes a file that may be lost with the machine, as one of a cache, whole or
/// not at all. Its folder is made.
///
/// # Errors
///
/// Those of the file system, and of `write`.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    write(file.as_file_mut())?;
    file.persist(path)?;
    Ok(())
}

/// Joins stem and extension to the file name of a set.
pub fn join_name(stem: &OsStr, extension: &str) -> OsString {
    let mut name = stem.to_owned();
    name.push(".");
    name.push(extension);
    name
}

/// Maximum length of a file name in bytes.
pub const MOST_NAME: usize = crate::names::MAX_BYTES;

/// Returns the longest prefix of `name` of at most `most` bytes that splits no
/// character.
pub fn cut_name(name: &OsStr, most: usize) -> OsString {
    let bytes = name.as_bytes();
    let mut end = most.min(bytes.len());
    let is_inside = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    while name.to_str().is_some() && is_inside(end) {
        end -= 1;
    }
    OsStr::from_bytes(bytes.get(..end).unwrap_or_default()).to_owned()
}

/// Returns whether two stems are equal ignoring letter case. Names that are not
/// UTF-8 must be equal byte for byte.
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
    fn a_name_is_cut_between_characters() {
        let cut = |name: &str, most| cut_name(OsStr::new(name), most);
        assert_eq!(cut("caf\u{e9}s", 9), "caf\u{e9}s");
        assert_eq!(cut("caf\u{e9}s", 5), "caf\u{e9}");
        assert_eq!(cut("caf\u{e9}s", 4), "caf");
        assert_eq!(cut("\u{2654}", 2), "");
        let bytes = OsStr::from_bytes(b"\xe9\x80\x80\xff");
        assert_eq!(cut_name(bytes, 2), OsStr::from_bytes(b"\xe9\x80"));
    }

    #[test]
    fn names_are_split_and_joined_byte_for_byte() {
        let name = OsStr::from_bytes(b"a.\xff.CBH");
        let (stem, extension) = split_name(Path::new(name));
        assert_eq!((stem.as_bytes(), &*extension), (&b"a.\xff"[..], "cbh"));
        assert_eq!(join_name(&stem, "cbg").as_bytes(), b"a.\xff.cbg");
    }

    #[test]
    fn all_that_lies_in_a_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        fs::write(folder.path().join(".a"), "").unwrap();
        let mut names = names_in(folder.path()).unwrap();
        names.sort();
        assert_eq!(names, [".a", "inner"]);
        assert!(names_in(&folder.path().join("missing")).is_err());
    }

    #[test]
    fn a_file_without_a_folder_lies_in_the_present_one() {
        for (path, wanted) in [
            ("a/b", "a"),
            ("/a/b", "/a"),
            ("/b", "/"),
            ("b", "."),
            ("/", "."),
        ] {
            assert_eq!(folder_of(Path::new(path)), Path::new(wanted), "{path}");
        }
    }

    #[test]
    fn only_a_plain_file_is_copied_and_to_a_new_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        fs::create_dir(at("inner")).unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        copy_plain_file(&at("file"), &at("copy")).unwrap();
        assert_eq!(fs::read(at("copy")).unwrap(), b"text");
        let failed = |from: &str, to: &str| copy_plain_file(&at(from), &at(to)).unwrap_err().kind();
        assert_eq!(failed("file", "copy"), io::ErrorKind::AlreadyExists);
        assert_eq!(failed("inner", "new"), io::ErrorKind::InvalidInput);
        assert_eq!(failed("pipe", "new"), io::ErrorKind::InvalidInput);
        failed("link", "new");
        assert!(!at("new").exists());
        let kinds = ["link", "pipe", "inner", "socket"].map(|name| {
            let stat = fs::symlink_metadata(at(name)).unwrap();
            kind_of(stat.file_type())
        });
        assert_eq!(kinds, ["a link", "a pipe", TOO_DEEP, "no regular file"]);
    }

    #[test]
    fn a_name_elsewhere_has_the_stem_and_tells_the_path() {
        let name = |path: &str| name_elsewhere(Path::new(path));
        assert!(name("/a/base.cbh").starts_with("base-"));
        assert_eq!(name("/a/base.cbh").len(), 5 + 16);
        assert_ne!(name("/a/base.cbh"), name("/b/base.cbh"));
        assert_eq!(name(&"\u{e9}".repeat(100)).chars().count(), 40 + 1 + 16);
        let folder = tempfile::tempdir().unwrap();
        let of_set = |name: &str| name_of_set_elsewhere(&folder.path().join(name));
        for name in ["base.cbh", "base.cbg"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        std::os::unix::fs::symlink("base.cbh", folder.path().join("link.cbh")).unwrap();
        assert_eq!(of_set("base.cbh"), of_set("base.cbg"));
        assert_eq!(of_set("base.cbh"), of_set("link.cbh"));
        assert_ne!(of_set("base.cbh"), of_set("other.cbh"));
    }

    #[test]
    fn a_file_is_written_whole_or_stays_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inner/file");
        let write = |text: &'static [u8]| move |file: &mut File| io::Write::write_all(file, text);
        write_whole(&path, write(b"old text")).unwrap();
        let failed = write_whole(&path, |file| {
            write(b"new")(file)?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old text");
        write_whole(&path, write(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names_in(&folder.path().join("inner")).unwrap(), ["file"]);
    }
}
