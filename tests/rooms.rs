//! The plan of the house in `src/lib.rs` is true.

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
fn no_room_uses_another_that_the_table_does_not_name() {
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
            assert!(
                ["lib", "main", "stand_in"].contains(&room),
                "{room} is no room"
            );
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

#[test]
fn the_file_system_knows_no_kernel_and_starts_no_thread() {
    let mut files = Vec::new();
    rust_files(&source("vfs"), &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for forbidden in [
            "fuser::",
            "clap::",
            "thread::spawn",
            "Builder::spawn",
            "Instant::now",
            "SystemTime::now",
        ] {
            assert!(!code.contains(forbidden), "{}: {forbidden}", file.display());
        }
    }
}
