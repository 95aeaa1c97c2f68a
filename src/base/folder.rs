//! The bases and books of a folder, and what each is called.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::AnyFamily;
use crate::archive;
use crate::book::{stands_for_book, stem_of};
use crate::cbh2;
use crate::names;

/// Names and paths of the bases and books directly in a folder, in the order of
/// names, of which no two are the same.
///
/// # Errors
///
/// That of the system.
pub(crate) fn bases_in(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut paths = Vec::new();
    let mut links = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if is_of_base(&path) && is_shown(&path) {
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            if is_link { &mut links } else { &mut paths }.push(path);
        }
    }
    add_links(&mut paths, links);
    // A name that a base has already gets the extension too.
    paths.sort_by_key(|path| (rank(path), path.clone()));
    Ok(named(paths))
}

/// Adds those links that lead to what is not there already: a base is shown
/// once, since it has one writer.
fn add_links(paths: &mut Vec<PathBuf>, mut links: Vec<PathBuf>) {
    if links.is_empty() {
        return;
    }
    let place = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let mut places: HashSet<PathBuf> = paths.iter().map(place).collect();
    links.sort();
    paths.extend(links.into_iter().filter(|link| places.insert(place(link))));
}

/// Whether a file of this name is one of headers, an archive, or stands for a book.
fn is_of_base(path: &Path) -> bool {
    AnyFamily::is_headers(path) || stands_for_book(path) || archive::has_archive_extension(path)
}

/// Which of several with one name has it: a base before one in the newer
/// format, that before an archive, and that before a book.
fn rank(path: &Path) -> u8 {
    match path {
        path if stands_for_book(path) => 3,
        path if archive::has_archive_extension(path) => 2,
        path if cbh2::Family::owns(path) => 1,
        _ => 0,
    }
}

/// Whether this is a file, and not hidden: what macOS puts beside each file is
/// called as that is. What cannot be looked at is shown, and tells why it cannot be
/// opened; but not a link that leads to nothing.
fn is_shown(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    !name.as_encoded_bytes().starts_with(b".") && may_be_file(fs::metadata(path))
}

fn may_be_file(looked_at: io::Result<Metadata>) -> bool {
    match looked_at {
        Ok(stat) => stat.is_file(),
        Err(error) => !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ELOOP)),
    }
}

fn named(paths: Vec<PathBuf>) -> Vec<(String, PathBuf)> {
    let mut stems = HashSet::new();
    let mut taken = HashSet::new();
    let mut bases = Vec::new();
    for path in paths {
        let (Some(stem), Some(extension)) = (stem_of(&path), path.extension()) else {
            continue;
        };
        let extension = extension.to_ascii_lowercase();
        // `x.cbh` and `x.CBH` are one base.
        let whole_stem = path.file_stem().unwrap_or_default();
        if !stems.insert((whole_stem.to_owned(), extension.clone())) {
            continue;
        }
        let mut plain = names::shown(&stem);
        if taken.contains(&plain) && rank(&path) > 0 {
            plain = names::shown(&format!("{plain}.{}", extension.to_string_lossy()));
        }
        let mut name = plain.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            number += 1;
            name = names::shown(&format!("{plain} ~{number}"));
        }
        bases.push((name, path));
    }
    bases.sort_by(|(one, _), (other, _)| one.cmp(other));
    bases
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    #[test]
    fn bases_and_books_are_named_by_their_stems() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "a.cbh",
            "a.CBH",
            "B.CbH",
            "b.cbh",
            "c.cbg",
            "cbh",
            ".d.cbh",
            "._a.cbh",
            "a.ctg",
            "e.CTG",
            "e.ctb",
            ".e.ctg",
            "x.cbh.bak",
            "a.cbv",
            "g.CBZ",
            ".g.cbv",
        ] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        fs::create_dir(directory.path().join("f.cbh")).unwrap();
        let bases = bases_in(directory.path()).unwrap();
        let names: Vec<&str> = bases.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["B", "a", "a.cbv", "a.ctg", "b", "e", "g"]);
    }

    #[test]
    fn what_cannot_be_looked_at_may_be_a_base() {
        let looked_at = |code| may_be_file(Err(io::Error::from_raw_os_error(code)));
        let codes = [libc::EIO, libc::EACCES, libc::ENOENT, libc::ELOOP];
        assert_eq!(codes.map(looked_at), [true, true, false, false]);
        let directory = tempfile::tempdir().unwrap();
        let link = |to: &str, name: &str| symlink(to, directory.path().join(name)).unwrap();
        link("nothing", "a.cbh");
        link("b.cbh", "b.cbh");
        assert!(bases_in(directory.path()).unwrap().is_empty());
    }

    #[test]
    fn names_that_look_alike_are_told_apart() {
        let paths = ["e\u{301}.cbh", "é.cbh", "é ~2.cbh"].map(PathBuf::from);
        let names: Vec<String> = named(paths.into())
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["é", "é ~2", "é ~2 ~2"]);
    }

    #[test]
    fn names_that_are_not_utf8_are_those_of_several_bases() {
        let paths = [&b"b\xe8.cbh"[..], b"b\xe9.cbh"];
        let paths = paths.map(|name| PathBuf::from(OsStr::from_bytes(name)));
        let bases = named(paths.clone().into());
        let names: Vec<&str> = bases.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["b\u{fffd}", "b\u{fffd} ~2"]);
        assert_eq!(bases[0].1, paths[0]);
        assert_eq!(bases[1].1, paths[1]);
    }
}
