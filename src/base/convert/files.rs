//! The files that a conversion copies: those of a CBH base in an archive, and
//! what lies beside a 2CBH base.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::archive::Archive;
use crate::cbh::{Error, MOST_INI_BYTES, NewBase, copy_folder};
use crate::cbh2;
use crate::storage::{
    Directory, DiskDirectory, FolderTree, LeftOut, ReadBuffer, TOO_DEEP, is_same_stem, names_in,
    split_name,
};

/// Bytes that are copied at once.
const AT_ONCE: usize = 1 << 19;

/// Maximum depth of nested media folders.
const MAX_DEPTH: usize = 16;

/// The section of an `.ini` that describes a base, in both formats.
const NEWER_SECTION: &[u8] = b"[Descr2CBG]";
const OLDER_SECTION: &[u8] = b"[DescrCBG]";

/// What was copied of an archive.
#[derive(Clone, Debug, Default)]
pub struct Copied {
    /// Number of files.
    pub files: usize,
    /// Paths of the members that are no part of the base.
    pub left_out: Vec<String>,
}

/// Copies the files of the CBH base in an archive, whose `.cbh` is `headers`,
/// under the name of `new_base`. `progress` is called with the number of bytes
/// copied since the last call; if it returns `false`, it ends with an error of
/// the kind `Interrupted`.
///
/// # Errors
///
/// [`Error::Io`], also if a file is damaged.
pub fn copy_archived(
    archive: &Arc<Archive>,
    headers: &Path,
    new_base: &NewBase,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Copied, Error> {
    let stem = split_name(headers).0;
    let mut copied = Copied::default();
    let mut open = vec![(
        archive.root(),
        PathBuf::new(),
        new_base.folder().to_path_buf(),
    )];
    while let Some((tree, path, to)) = open.pop() {
        for name in tree.names() {
            let from = path.join(&name);
            let is_top = path.as_os_str().is_empty();
            let new_name = if is_top {
                new_name_of(&name, &stem, &new_base.path())
            } else {
                Some(name.clone())
            };
            let Some(new_name) = new_name else {
                copied.left_out.push(from.display().to_string());
                continue;
            };
            let to = to.join(new_name);
            let io = |source| Error::Io {
                file: archive.path().join(&from),
                source,
            };
            if let Some(folder) = tree.folder(&name) {
                fs::create_dir(&to).map_err(io)?;
                open.push((folder, from, to));
            } else {
                copy_file(tree.as_ref(), &name, &to, progress).map_err(io)?;
                copied.files += 1;
            }
        }
    }
    Ok(copied)
}

/// The name of a file of the base in a base with another stem; `None` for a
/// file of another base.
fn new_name_of(name: &OsStr, stem: &OsStr, headers: &Path) -> Option<OsString> {
    let (own, extension) = split_name(Path::new(name));
    if !is_same_stem(&own, stem) {
        return None;
    }
    if extension == "cbh" {
        return Some(headers.file_name()?.to_owned());
    }
    let extension = Path::new(name).extension().unwrap_or_default();
    Some(headers.with_extension(extension).file_name()?.to_owned())
}

/// Copies a file of a folder, with the time of its last change.
fn copy_file(
    folder: &dyn FolderTree,
    name: &OsStr,
    to: &Path,
    progress: &mut dyn FnMut(u64) -> bool,
) -> io::Result<()> {
    let file = folder.open(name)?;
    let mut out = File::create_new(to)?;
    let (mut buffer, mut at, len) = (ReadBuffer::default(), 0, file.len()?);
    while at < len {
        let bytes = file.read_up_to(at, AT_ONCE, &mut buffer)?;
        if bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        out.write_all(bytes)?;
        at += bytes.len() as u64;
        if !progress(bytes.len() as u64) {
            return Err(io::ErrorKind::Interrupted.into());
        }
    }
    out.set_modified(modified_of(file.stamp()?.modified))
}

fn modified_of((seconds, nanos): (i64, i64)) -> SystemTime {
    let seconds = u64::try_from(seconds).unwrap_or(0);
    let nanos = u32::try_from(nanos).unwrap_or(0);
    let time = UNIX_EPOCH.checked_add(Duration::new(seconds, nanos));
    time.unwrap_or(UNIX_EPOCH)
}

/// Copies the description of a 2CBH base, and the pictures of its texts. What
/// of them is not copied is returned.
///
/// # Errors
///
/// [`Error::Io`].
pub(super) fn copy_companions(from: &cbh2::Family, new_base: &NewBase) -> Result<LeftOut, Error> {
    let ini = description(from).map_err(|source| Error::Io {
        file: from.directory().join(format!("{}.ini", from.name())),
        source,
    })?;
    if let Some(ini) = ini {
        new_base.describe_as(&ini)?;
    }
    let mut left_out = from.spare_folders().to_vec();
    for folder in from.media_folders() {
        let extension = folder.extension().unwrap_or_default();
        let to = new_base
            .path()
            .with_extension(extension.to_ascii_lowercase());
        let io = |source| Error::Io {
            file: folder.clone(),
            source,
        };
        if from.tree().is_none() {
            if !new_base.shares(folder) {
                copy_folder(folder, &to, &mut left_out).map_err(io)?;
            }
            continue;
        }
        let name = folder.file_name().unwrap_or_default();
        if let Some(tree) = from.tree().and_then(|tree| tree.folder(name)) {
            copy_tree(tree, folder, &to, &mut left_out).map_err(io)?;
        }
    }
    Ok(left_out)
}

/// As [`copy_folder`], out of an archive, where it lies at `path`.
fn copy_tree(
    from: Arc<dyn FolderTree>,
    path: &Path,
    to: &Path,
    left_out: &mut LeftOut,
) -> io::Result<()> {
    let mut open = vec![(from, path.to_path_buf(), to.to_path_buf(), 0)];
    while let Some((from, path, to, depth)) = open.pop() {
        fs::create_dir(&to)?;
        for name in from.names() {
            let (path, to) = (path.join(&name), to.join(&name));
            match from.folder(&name) {
                Some(folder) if depth < MAX_DEPTH => open.push((folder, path, to, depth + 1)),
                Some(_) => left_out.push((path, TOO_DEEP)),
                None => copy_file(from.as_ref(), &name, &to, &mut |_| true)?,
            }
        }
    }
    Ok(())
}

/// The `.ini` of a base in the older format, if the base has one that describes it.
fn description(from: &cbh2::Family) -> io::Result<Option<Vec<u8>>> {
    let is_ini = |name: &OsString| {
        let (stem, extension) = split_name(Path::new(name));
        extension == "ini" && stem.to_string_lossy() == from.name()
    };
    let names = match from.tree() {
        Some(tree) => tree.names(),
        None => names_in(from.directory())?,
    };
    let Some(name) = names.into_iter().find(is_ini) else {
        return Ok(None);
    };
    let file = match from.tree() {
        Some(tree) => tree.open(&name)?,
        None => DiskDirectory::open(from.directory(), "")?.open(&name)?,
    };
    let mut buffer = ReadBuffer::default();
    Ok(in_older_format(file.read_up_to(
        0,
        MOST_INI_BYTES,
        &mut buffer,
    )?))
}

/// An `.ini` in the older format; `None` if it describes no base.
fn in_older_format(ini: &[u8]) -> Option<Vec<u8>> {
    let mut parts = ini.windows(NEWER_SECTION.len());
    let at = parts.position(|part| part == NEWER_SECTION)?;
    let (before, after) = (ini.get(..at)?, ini.get(at + NEWER_SECTION.len()..)?);
    Some([before, OLDER_SECTION, after].concat())
}

/// The name of the folder of pictures of a base, and that of the new one; both
/// are part of addresses in texts. `None` if they are the same, or the new one
/// would have to be escaped.
pub(super) fn media_names(from: &cbh2::Family, headers: &Path) -> Option<[String; 2]> {
    let new = headers.file_stem()?.to_str()?;
    let is_plain = !new.contains(['"', '\'', '<', '>', '&', '%', '#', '?']);
    let names = [from.name().into_owned(), new.to_owned()].map(|stem| format!("{stem}.html"));
    let [old, new] = &names;
    (is_plain && old != new).then_some(names)
}

/// Returns a page in which addresses in the folder `old` are in the folder
/// `new`.
pub(super) fn with_folder_named(page: &str, old: &str, new: &str) -> String {
    // Letter case does not matter on Windows.
    let lower = page.to_ascii_lowercase();
    let old = old.to_ascii_lowercase();
    let mut out = String::with_capacity(page.len());
    let mut end = 0;
    for (at, _) in lower.match_indices(&old) {
        let after = at + old.len();
        let is_folder = lower
            .get(after..)
            .is_some_and(|rest| rest.starts_with(['\\', '/']));
        let is_whole = lower
            .get(..at)
            .is_some_and(|before| before.ends_with(['"', '\'', '=', '/', '\\']));
        if is_folder && is_whole && at >= end {
            out.push_str(page.get(end..at).unwrap_or_default());
            out.push_str(new);
            end = after;
        }
    }
    out.push_str(page.get(end..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_pictures_name_the_new_folder() {
        let page = r#"<img src="Old.HTML\a.jpg"><img src=old.html/b.png> old.html\ "cold.html\c""#;
        let named = with_folder_named(page, "old.html", "new one.html");
        assert_eq!(
            named,
            r#"<img src="new one.html\a.jpg"><img src=new one.html/b.png> old.html\ "cold.html\c""#
        );
        assert_eq!(with_folder_named("é", "x.html", "y.html"), "é");
    }

    #[test]
    fn files_of_a_base_get_its_new_name_and_others_none() {
        let headers = Path::new("/x/New.Base.CBH");
        let name = |name: &str| new_name_of(OsStr::new(name), OsStr::new("small"), headers);
        assert_eq!(name("SMALL.cbh"), Some("New.Base.CBH".into()));
        assert_eq!(name("small.CBG"), Some("New.Base.CBG".into()));
        assert_eq!(name("small.html"), Some("New.Base.html".into()));
        assert_eq!(name("other.cbg"), None);
    }
}
