//! The source follows the table of modules in `src/lib.rs`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::string_slice,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Which room may use which, from the table.
fn table() -> BTreeMap<String, BTreeSet<String>> {
    let map = fs::read_to_string(source("lib.rs")).unwrap();
    let rows = map.lines().filter_map(|line| line.strip_prefix("//! | `"));
    rows.map(|row| {
        let mut words = row.split('`').step_by(2).map(str::to_owned);
        let room = words.next().unwrap();
        let uses = row.split('`').skip(2).step_by(2).map(str::to_owned);
        (room, uses.collect())
    })
    .collect()
}

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(path)
}

fn rust_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn modules_use_only_those_in_the_table() {
    let table = table();
    assert!(table.len() >= 6, "{table:?}");
    let mut files = Vec::new();
    rust_files(&source(""), &mut files);
    let mut seen = 0;
    for file in files {
        let relative = file.strip_prefix(source("")).unwrap();
        let first = relative.components().next().unwrap();
        let room = first.as_os_str().to_str().unwrap().trim_end_matches(".rs");
        let Some(allowed) = table.get(room) else {
            assert!(["lib", "main"].contains(&room), "{room} is no room");
            continue;
        };
        for (number, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for used in line.split("crate::").skip(1) {
                let names = used.trim_start_matches('{');
                let used = names
                    .split(|c: char| !c.is_alphanumeric() && c != '_')
                    .next()
                    .unwrap();
                seen += 1;
                assert!(
                    used == room || allowed.contains(used),
                    "{}:{}: {room} may not use {used}",
                    relative.display(),
                    number + 1
                );
            }
        }
    }
    assert!(seen > 10, "only {seen} uses found");
}

/// The lines of a file that tests alone do not have: without what follows
/// `#[cfg(test)]`, be it a line or a block. The names of modules left out so
/// are put into `modules`.
fn without_tests(text: &str, modules: &mut BTreeSet<String>) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = format!("{indent}}}");
        let item = lines.by_ref().find(|line| !line.trim().starts_with("#["));
        let item = item.unwrap();
        if let Some(module) = item.trim().strip_prefix("mod ") {
            modules.extend(module.strip_suffix(';').map(str::to_owned));
        }
        if item.ends_with('{') {
            lines.by_ref().find(|line| *line == end).unwrap();
        } else if !item.ends_with(['}', ';']) {
            let closes = |line: &&str| *line == end || line.ends_with(';');
            lines.by_ref().find(closes).unwrap();
        }
    }
    kept
}

#[test]
fn code_after_tests_in_a_file_is_checked() {
    let text = "a\n#[cfg(test)]\nmod tests;\nb\n    #[cfg(test)]\n    fn f() {\n    }\nc\n";
    let mut modules = BTreeSet::new();
    assert_eq!(without_tests(text, &mut modules), "a\nb\nc\n");
    assert!(modules.contains("tests"));
}

#[test]
fn fs_uses_no_kernel_interface_and_starts_no_thread() {
    let mut files = Vec::new();
    for room in ["fs", "views", "vfs"] {
        rust_files(&source(room), &mut files);
    }
    let mut modules = BTreeSet::new();
    let codes: Vec<_> = files
        .iter()
        .map(|file| {
            let text = fs::read_to_string(file).unwrap();
            (file, without_tests(&text, &mut modules))
        })
        .collect();
    assert!(codes.len() > 10);
    for (file, code) in codes {
        if modules.contains(file.file_stem().unwrap().to_str().unwrap()) {
            continue;
        }
        for forbidden in [
            "fuser::",
            "clap::",
            "thread::spawn",
            "thread::scope",
            ".spawn(",
            "Instant::now",
            "SystemTime::now",
        ] {
            assert!(!code.contains(forbidden), "{}: {forbidden}", file.display());
        }
    }
}

/// A file that a comment names is there, seen from `src`, from the room, or
/// from the project's root.
#[test]
fn files_named_in_comments_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    rust_files(&source(""), &mut files);
    let mut seen = 0;
    for file in files {
        let room = file.parent().unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let comments = text.lines().filter(|line| line.trim().starts_with("//"));
        for named in comments.flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let is_rust = Path::new(named).extension().is_some_and(|end| end == "rs");
            if !is_rust || named.contains([' ', '*']) {
                continue;
            }
            seen += 1;
            let places = [source(named), room.join(named), root.join(named)];
            let is_there = places.iter().any(|place| place.is_file());
            assert!(is_there, "{}: there is no {named}", file.display());
        }
    }
    assert!(seen > 3, "only {seen} files named");
}

/// Only the items at the root of the library are stable; modules serve the program
/// and its tests.
#[test]
fn no_public_module_is_documented() {
    let library = fs::read_to_string(source("lib.rs")).unwrap();
    let lines: Vec<_> = library.lines().collect();
    let modules = lines
        .windows(2)
        .filter(|two| two[1].starts_with("pub mod "));
    let modules: Vec<_> = modules.collect();
    assert!(modules.len() > 10);
    for two in modules {
        assert_eq!(two[0], "#[doc(hidden)]", "{}", two[1]);
    }
}
