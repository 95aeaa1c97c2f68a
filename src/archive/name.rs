//! Names of members: Windows paths of unknown origin.
//!
//! A name becomes a path only if no part of it leads out of the folder, on
//! Linux or on Windows.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use encoding_rs::Encoding;

use super::header::NAME_BYTES;
use crate::storage::is_hidden_of_cbfs;

/// Separator of folders in a name.
const SEPARATOR: char = '\\';

/// Decodes the name of a member to a path with `/` between folders.
///
/// # Errors
///
/// The reason why the name is not valid.
pub(super) fn path_of(name: Option<&[u8]>, page: &'static Encoding) -> Result<String, String> {
    let Some(name) = name else {
        return Err("has a name without an end".to_owned());
    };
    // Bytes that the code page leaves undefined become C1 controls.
    let (text, _) = page.decode_without_bom_handling(name);
    if text.is_empty() {
        return Err("has no name".to_owned());
    }
    let refused = |what: &str| Err(format!("is called {text:?}, which {what}"));
    // Those C1 controls are harmless in a name.
    if text.chars().any(|c| c < ' ' || c == '\u{7f}') {
        return refused("has a control character");
    }
    if text.contains(['/', ':']) {
        return refused("has a slash or a colon");
    }
    let is_odd = |part: &str| part.trim_matches(['.', ' ']).is_empty();
    if text.split(SEPARATOR).any(is_odd) {
        return refused("has a part that is empty, or of dots and blanks only");
    }
    if text.split(SEPARATOR).any(is_hidden_of_cbfs) {
        return refused("is a name that cbfs keeps for its own files, such as a journal of saves");
    }
    Ok(text.replace(SEPARATOR, "/"))
}

/// Encodes a path as the name of a member.
///
/// # Errors
///
/// The reason why the path cannot be a name.
pub(super) fn name_of(path: &str, page: &'static Encoding) -> Result<Vec<u8>, String> {
    let text = path.replace('/', "\\");
    let (name, _, has_failed) = page.encode(&text);
    if has_failed {
        return Err(format!(
            "{path:?} has characters that names in an archive cannot have; rename the base"
        ));
    }
    if name.len() >= NAME_BYTES {
        return Err(format!(
            "{path:?} is too long for a name in an archive, which has {} characters at most",
            NAME_BYTES - 1
        ));
    }
    let read_back = path_of(Some(&name), page)?;
    if read_back != path {
        return Err(format!("{path:?} would be read back as {read_back:?}"));
    }
    Ok(name.into_owned())
}

/// The set of used paths, ignoring letter case. Of each there is only a digest, since a
/// hostile archive has fifty folders for each of its files: of a million paths two have
/// the same one once in forty million archives, and the second is left out.
#[derive(Debug, Default)]
pub(super) struct UsedPaths {
    hasher: RandomState,
    files: HashSet<u64>,
    folders: HashSet<u64>,
}

impl UsedPaths {
    /// Adds a path.
    ///
    /// # Errors
    ///
    /// The reason, if another member has the path, or one of the two is a
    /// folder of the other.
    pub(super) fn take(&mut self, path: &str) -> Result<(), &'static str> {
        let path = path.to_lowercase();
        let digest = |path: &str| self.hasher.hash_one(path);
        let file = digest(&path);
        if self.files.contains(&file) {
            return Err("has the name of an earlier one");
        }
        let folders = path.match_indices('/');
        let folders: Vec<u64> = folders
            .filter_map(|(at, _)| path.get(..at).map(digest))
            .collect();
        let is_both = |folder: &u64| self.files.contains(folder);
        if self.folders.contains(&file) || folders.iter().any(is_both) {
            return Err("has a name that is both a file and a folder");
        }
        self.folders.extend(folders);
        self.files.insert(file);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use encoding_rs::{WINDOWS_1251, WINDOWS_1252};

    use super::*;

    #[test]
    fn only_harmless_names_become_paths() {
        let path = |name: &[u8]| path_of(Some(name), WINDOWS_1252);
        assert_eq!(path(b"base.cbh").unwrap(), "base.cbh");
        assert_eq!(path(b"base.html\\a.jpg").unwrap(), "base.html/a.jpg");
        for hidden in [
            &b".base.cbfs-journal"[..],
            b".Base.CBFS-Journal",
            b".new.cbfs-new\\.lock",
            b"sub\\.base.cbfs-stage",
            b".cbfs-bad-1",
        ] {
            let why = path(hidden).unwrap_err();
            assert!(why.contains("keeps for its own files"), "{why}");
        }
        assert_eq!(path(b".base.cbh").unwrap(), ".base.cbh");
        assert_eq!(path(b"Gr\xfcnfeld \x96 \x80").unwrap(), "Grünfeld – €");
        assert_eq!(path(b"\x81").unwrap(), "\u{81}");
        assert_eq!(path_of(Some(b"\xd2"), WINDOWS_1251).unwrap(), "Т");
        let bad: [&[u8]; 18] = [
            b"",
            b"..",
            b".",
            b" ",
            b"..\\x",
            b"x\\..\\..\\y",
            b"x\\..",
            b"\\x",
            b"\\\\s\\x",
            b"/etc",
            b"../x",
            b"x/y",
            b"C:\\x",
            b"x:y",
            b"x\\\\y",
            b"x\\",
            b"a\nb",
            b".. \\x",
        ];
        for name in bad {
            assert!(path(name).is_err(), "{name:?}");
        }
        assert!(path_of(None, WINDOWS_1252).is_err());
    }

    #[test]
    fn names_come_back() {
        let name = |path| name_of(path, WINDOWS_1252);
        assert_eq!(name("base.html/ü.jpg").unwrap(), b"base.html\\\xfc.jpg");
        let (longest, too_long) = ("x".repeat(127), "x".repeat(128));
        for path in ["Ж.cbh", "a\\b", "..", "a/../b", "a:b", &too_long] {
            assert!(name(path).is_err(), "{path}");
        }
        assert_eq!(name(&longest).unwrap().len(), 127);
    }

    #[test]
    fn a_path_is_taken_once_in_any_letter_case() {
        let mut taken = UsedPaths::default();
        for (path, is_free) in [
            ("b.cbp", true),
            ("B.CBP", false),
            ("x", true),
            ("x/y", false),
            ("z/y", true),
            ("Z", false),
            ("z/x", true),
            ("z/Y/x", false),
        ] {
            assert_eq!(taken.take(path).is_ok(), is_free, "{path}");
        }
    }
}
