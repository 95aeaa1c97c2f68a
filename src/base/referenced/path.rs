//! From an address of another computer to a file of this one.
//!
//! A book has Windows paths of the computer it was made on. Nothing of them
//! is believed: what is looked for lies in a folder that the user named, or
//! where the book lies.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What Kvetka writes for its own folder. What follows begins without a
/// backslash.
const OWN_FOLDER: &str = "%currentdir";

/// A folder of another computer, and where that is on this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceMap {
    /// The begin of an address.
    pub from: String,
    /// The folder to look in instead.
    pub to: PathBuf,
}

impl FromStr for SourceMap {
    type Err = String;

    /// `FROM=TO`, such as `C:\bases=/home/me/bases`.
    fn from_str(map: &str) -> Result<SourceMap, String> {
        match map.split_once('=') {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok(SourceMap {
                from: from.to_owned(),
                to: PathBuf::from(to),
            }),
            _ => Err("not FROM=TO, such as C:\\bases=/home/me/bases".to_owned()),
        }
    }
}

/// The file that `address` means in a book that lies in `folder`.
///
/// # Errors
///
/// A line that says where it was looked for, and what to do.
pub(super) fn resolve(address: &str, folder: &Path, maps: &[SourceMap]) -> Result<PathBuf, String> {
    let mut maps: Vec<&SourceMap> = maps.iter().collect();
    maps.sort_by_key(|map| std::cmp::Reverse(map.from.len()));
    let mapped = maps
        .into_iter()
        .filter_map(|map| Some((map.to.as_path(), rest_after(address, &map.from)?)));
    let own = rest_after(address, OWN_FOLDER).map(|rest| (folder, rest));
    let name = names(address).last();
    let beside = name.map(|name| (folder, name.to_owned()));
    let mut looked = Vec::new();
    for (folder, rest) in mapped.chain(own).chain(beside) {
        let names: Vec<&str> = names(&rest).collect();
        // No name leads out of the folder.
        if names.is_empty() || names.contains(&"..") {
            continue;
        }
        if let Some(path) = find(folder, &names) {
            return Ok(path);
        }
        let path: PathBuf = std::iter::once(folder)
            .chain(names.iter().map(Path::new))
            .collect();
        if !looked.contains(&path) {
            looked.push(path);
        }
    }
    let looked: Vec<String> = looked
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    Err(format!(
        "{address} is not found; looked for {}; say where it is with --source-map '{}=/FOLDER'",
        looked.join(", "),
        folder_of(address)
    ))
}

/// The names in a path, of either kind of system; without its drive.
fn names(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    let names = path.split(['\\', '/']);
    names.filter(|name| !matches!(*name, "" | ".") && !name.ends_with(':'))
}

/// What stands before the last name of an address.
fn folder_of(address: &str) -> &str {
    if rest_after(address, OWN_FOLDER).is_some() {
        return OWN_FOLDER;
    }
    address
        .rsplit_once(['\\', '/'])
        .map_or(address, |(folder, _)| folder)
}

/// Returns what follows `begin` in `address`, ignoring letter case; `None` if
/// the address does not begin with it.
fn rest_after(address: &str, begin: &str) -> Option<String> {
    let same = |a: char, b: char| {
        let is_slash = |c: char| matches!(c, '\\' | '/');
        is_slash(a) && is_slash(b) || a.to_lowercase().eq(b.to_lowercase())
    };
    let begin = begin.trim_end_matches(['\\', '/']);
    let mut rest = address.chars();
    for wanted in begin.chars() {
        if !same(rest.next()?, wanted) {
            return None;
        }
    }
    let rest = rest.as_str();
    let is_whole =
        rest.is_empty() || rest.starts_with(['\\', '/']) || begin.eq_ignore_ascii_case(OWN_FOLDER);
    is_whole.then(|| rest.to_owned())
}

/// The file of these names in `folder`, in any letter case.
fn find(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    let mut path = folder.to_path_buf();
    for name in names {
        let exact = path.join(name);
        path = if exact.exists() {
            exact
        } else {
            let other = |entry: &fs::DirEntry| {
                let known = entry.file_name();
                known.to_string_lossy().to_lowercase() == name.to_lowercase()
            };
            // An empty path is the present folder.
            let listed = if path.as_os_str().is_empty() {
                Path::new(".")
            } else {
                &path
            };
            let entries = fs::read_dir(listed).ok()?;
            entries.flatten().find(other)?.path()
        };
    }
    // Neither a folder nor a pipe, which would be waited for.
    path.is_file().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(map: &str) -> SourceMap {
        map.parse().unwrap()
    }

    #[test]
    fn a_file_is_found_by_map_beside_the_book_and_in_kvetkas_folder() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("book/PGN")).unwrap();
        fs::create_dir_all(at("bases/old")).unwrap();
        for name in [
            "book/PGN/a.pgn",
            "book/B.cbh",
            "bases/old/c.pgn",
            "secret.pgn",
        ] {
            fs::write(at(name), "").unwrap();
        }
        let to = at("bases").display().to_string();
        let maps = [
            map(&format!("D:\\Bases={to}")),
            map(&format!("d:/={to}/old")),
        ];
        for (address, file) in [
            ("%currentdirpgn\\a.pgn", "book/PGN/a.pgn"),
            ("%currentdir\\PGN\\A.PGN", "book/PGN/a.pgn"),
            ("C:\\chess\\b.CBH", "book/B.cbh"),
            ("d:\\bases\\Old\\C.pgn", "bases/old/c.pgn"),
            ("D:\\c.pgn", "bases/old/c.pgn"),
        ] {
            let found = resolve(address, &at("book"), &maps);
            assert_eq!(found, Ok(at(file)), "{address}");
        }
        for address in [
            "%currentdir..\\secret.pgn",
            "..\\secret.pgn",
            "%currentdirPGN",
            "D:\\basesold\\c.pgn",
            "",
            "C:\\",
        ] {
            assert!(
                resolve(address, &at("book"), &maps[..1]).is_err(),
                "{address}"
            );
        }
        let absolute = at("secret.pgn").display().to_string();
        assert!(resolve(&absolute, &at("book"), &maps).is_err());
    }

    #[test]
    fn a_missing_file_error_names_path_and_remedy() {
        let why = resolve("C:\\x\\y.pgn", Path::new("/none"), &[map("c:\\X=/other")]);
        assert_eq!(
            why.unwrap_err(),
            "C:\\x\\y.pgn is not found; looked for /other/y.pgn, /none/y.pgn; \
             say where it is with --source-map 'C:\\x=/FOLDER'"
        );
    }

    #[test]
    fn a_map_has_two_sides() {
        for wrong in ["", "x", "=/y", "x="] {
            assert!(wrong.parse::<SourceMap>().is_err(), "{wrong}");
        }
    }
}
