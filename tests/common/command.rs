//! Running the command, and comparing the files that it leaves.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use cbfs::cbh::{Database, Options};

/// Path of the program under test.
pub(crate) const CBFS: &str = env!("CARGO_BIN_EXE_cbfs");

/// Runs the command.
pub(crate) fn cbfs<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Output {
    Command::new(CBFS).args(arguments).output().unwrap()
}

/// The standard output and standard error of a command.
pub(crate) fn said(output: &Output) -> String {
    let [out, errors] = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said));
    format!("{out}{errors}")
}

/// Runs the command, which must succeed; returns its output.
pub(crate) fn succeeds<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> String {
    let output = cbfs(arguments);
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// All files of a folder, by their relative paths, and targets of links.
pub(crate) fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            let content = match fs::read_link(&path) {
                Ok(target) => target.into_os_string().into_encoded_bytes(),
                Err(_) => fs::read(&path).unwrap(),
            };
            files.insert(name, content);
        }
    }
    files
}

/// The defects of a base, one per line, sorted.
pub(crate) fn defects_of(cbh: &Path) -> Vec<String> {
    let database = Database::open(cbh, &Options::default()).unwrap();
    let mut found = Vec::new();
    database
        .check(&|_| {}, &mut |defect| found.push(defect.to_string()))
        .unwrap();
    found.sort();
    found
}

/// A copy of a base with all files of its name.
pub(crate) fn copy_of(cbh: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let stem = cbh.file_stem().unwrap();
    let mut folders = vec![cbh.parent().unwrap().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let to = copy
                .path()
                .join(path.strip_prefix(cbh.parent().unwrap()).unwrap());
            let is_inside = folder != cbh.parent().unwrap();
            if !is_inside && path.file_stem() != Some(stem) {
                continue;
            }
            if path.is_dir() {
                fs::create_dir(&to).unwrap();
                folders.push(path);
            } else {
                super::copy_bytes(&path, &to);
            }
        }
    }
    copy
}

/// Fails with the names of the files that differ.
pub(crate) fn assert_same_files(
    found: &BTreeMap<String, Vec<u8>>,
    wanted: &BTreeMap<String, Vec<u8>>,
    about: &str,
) {
    let names = found.keys().chain(wanted.keys());
    let others: Vec<&String> = names
        .filter(|name| found.get(*name) != wanted.get(*name))
        .collect();
    assert!(
        others.is_empty(),
        "{about}: not as they should be: {others:?}"
    );
}
