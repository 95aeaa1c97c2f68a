//! Claims of the documentation about tests, options and dependencies are true.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test says what is wrong by panicking"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The directories that can be hidden are those of the table in the source.
#[test]
fn every_directory_that_can_be_hidden_is_named() {
    let page = read("docs/mounting.md");
    let row = page.lines().find(|line| line.contains("`-o hide="));
    let named: Vec<&str> = row.unwrap().split('`').skip(3).step_by(2).collect();
    let mut hidden = cbfs::vfs::Shown::default();
    let why = hidden.hide("none").unwrap_err();
    let (_, names) = why.split_once("none of ").unwrap();
    assert_eq!(named, names.split(", ").collect::<Vec<_>>());
}

#[test]
fn every_claim_names_existing_tests() {
    let files = [
        "folder",
        "archive",
        "book",
        "book_tree",
        "changes",
        "check",
        "cli",
        "coherence",
        "compact",
        "convert",
        "crash",
        "drafts",
        "hostile_files",
        "import",
        "imports",
        "kvetka",
        "memory",
        "mount",
        "names",
        "positions",
        "repair",
        "save",
        "saving",
        "status",
        "truth",
        "vfs",
    ];
    let sources = files.map(|file| read(&format!("tests/{file}.rs")));
    let page = read("docs/promises.md");
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let mut count = 0;
    for row in rows.skip(1) {
        let tests = row.split(" | ").last().unwrap();
        let names: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        assert!(!names.is_empty(), "{row}");
        for name in names {
            let start = format!("\nfn {name}() {{");
            assert!(
                sources.iter().any(|source| source.contains(&start)),
                "{name}"
            );
        }
        count += 1;
    }
    assert!(count > 15, "{count}");
}

#[test]
fn every_dependency_is_explained() {
    let manifest = read("Cargo.toml");
    let dependencies = manifest
        .split("\n[")
        .filter(|part| part.starts_with("dependencies]") || part.starts_with("dev-dependencies]"))
        .flat_map(|part| part.lines().skip(1))
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name.to_owned()));
    let dependencies: BTreeSet<String> = dependencies.collect();
    let guide = read("CONTRIBUTING.md");
    let section = guide.split("\n## Dependencies\n").nth(1).unwrap();
    let rows = section
        .split("\n## ")
        .next()
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("| "))
        .skip(1);
    let listed: BTreeSet<String> = rows
        .flat_map(|row| {
            row.split(" | ")
                .next()
                .unwrap()
                .trim_start_matches("| ")
                .split(", ")
        })
        .map(str::to_owned)
        .collect();
    assert_eq!(listed, dependencies);
}

/// The compiler that is asked for is the oldest that all crates can be built with.
#[test]
fn the_stated_compiler_is_what_the_crates_need() {
    let host = std::process::Command::new("rustc")
        .args(["--print", "host-tuple"])
        .output()
        .unwrap();
    let host = String::from_utf8(host.stdout).unwrap();
    // Crates for other systems may not have been fetched.
    let cargo = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .args(["--filter-platform", host.trim()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&cargo.stderr);
    assert!(cargo.status.success(), "{said}");
    let metadata: serde_json::Value = serde_json::from_slice(&cargo.stdout).unwrap();
    let version = |text: &str| -> Vec<u32> {
        let parts = text.split('.').map(|part| part.parse().unwrap());
        parts.chain([0]).take(2).collect()
    };
    let mut needed = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        if package["name"] != "cbfs"
            && let Some(stated) = package["rust_version"].as_str()
        {
            needed.push((version(stated), package["name"].to_string()));
        }
    }
    let needed = needed.into_iter().max().unwrap();
    let stated = env!("CARGO_PKG_RUST_VERSION");
    assert_eq!(needed.0, version(stated), "{}", needed.1);
    for page in ["README.md", "CONTRIBUTING.md"] {
        assert!(read(page).contains(&format!("Rust {stated}")), "{page}");
    }
}

/// The example is a change that can be made, and what is named is there.
#[test]
fn the_contributing_guide_is_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let told = read("CONTRIBUTING.md");
    let (text, example) = told.split_once("```diff\n").unwrap();
    let example = example.split("```").next().unwrap();
    let patch = tempfile::NamedTempFile::new().unwrap();
    fs::write(patch.path(), example).unwrap();
    let applied = std::process::Command::new("git")
        .args(["apply", "--check", "-p1"])
        .arg(patch.path())
        .current_dir(root)
        .output()
        .unwrap();
    assert!(applied.status.success(), "{applied:?}");
    // The trait and the table have the names that the example uses.
    let directories = read("src/views/database/directories.rs");
    let (_, view) = example.split_once("\n+impl Counts {").unwrap();
    let (_, view) = view.split_once("\n+impl ").unwrap();
    let view = view.split_once(" for ").unwrap().0;
    assert!(directories.contains(&format!("trait {view}:")), "{view}");
    let table = example
        .lines()
        .find_map(|line| line.split_once("static TABLE"));
    assert!(directories.contains(table.unwrap().1), "{table:?}");
    let named = text.split('`').skip(1).step_by(2);
    let paths: Vec<&str> = named.filter(|name| name.starts_with("src/")).collect();
    assert!(paths.len() > 8, "{paths:?}");
    for path in paths {
        assert!(root.join(path).exists(), "{path}");
    }
    let test = text.split("cargo test --test ").nth(1).unwrap();
    let mut words = test.split_whitespace();
    let file = read(&format!("tests/{}.rs", words.next().unwrap()));
    assert!(file.contains(&format!("fn {}()", words.next().unwrap())));
}
