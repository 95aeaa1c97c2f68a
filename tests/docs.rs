//! The command lines of README.md and `docs/` do what the pages show.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test says what is wrong by panicking"
)]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Stands between what the commands of a page print.
const MARK: &str = "---- the next command ----";

/// A command line, and what the page says that it prints; `…` is anything.
#[derive(Debug)]
struct Example {
    command: String,
    output: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The examples of a page: indented lines, of which the commands begin with
/// `$`.
fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut is_open = false;
    for line in page.lines() {
        match line.strip_prefix("    ") {
            Some(line) => match line.strip_prefix("$ ") {
                Some(command) => {
                    examples.push(Example {
                        command: command.to_owned(),
                        output: Vec::new(),
                    });
                    is_open = true;
                }
                None if is_open => examples.last_mut().unwrap().output.push(line.to_owned()),
                None => {}
            },
            None => is_open = false,
        }
    }
    examples
}

/// Runs the commands one after the other in one shell, as a reader would in a
/// clone; returns what each printed.
fn run(home: &Path, examples: &[Example]) -> Vec<String> {
    let mut script = String::from("exec 2>&1\n");
    for example in examples {
        script.push_str(&example.command);
        script.push_str("\nstatus=$?\ntest $status = 0 || echo \"exit code $status\"\necho '");
        script.push_str(MARK);
        script.push_str("'\n");
    }
    let binaries = Path::new(env!("CARGO_BIN_EXE_cbfs")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let output = Command::new("timeout")
        .args(["120", "bash", "-c", &script])
        .current_dir(root())
        .env("HOME", home)
        .env("PATH", path)
        .env("LC_ALL", "C.UTF-8")
        .env_remove("XDG_CACHE_HOME")
        .env_remove("XDG_STATE_HOME")
        .process_group(0)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    let mark = format!("{MARK}\n");
    let mut outputs: Vec<String> = printed.split(&mark).map(str::to_owned).collect();
    outputs.pop();
    outputs
}

fn fits(printed: &str, expected: &[String]) -> bool {
    if expected == ["…"] {
        return !printed.contains("exit code");
    }
    printed.lines().eq(expected)
}

/// A home with the sample base, as README.md makes it.
fn home_with_sample() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("chess")).unwrap();
    let sample = home.path().join("sample");
    fs::create_dir(&sample).unwrap();
    for entry in fs::read_dir(root().join("fixtures/cbh/sample")).unwrap() {
        let from = entry.unwrap().path();
        fs::copy(&from, sample.join(from.file_name().unwrap())).unwrap();
    }
    fs::copy(
        root().join("fixtures/book/kvetka.pgn"),
        home.path().join("games.pgn"),
    )
    .unwrap();
    home
}

fn judge(page: &Path, home: &Path) {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let examples = examples(&text);
    assert!(!examples.is_empty(), "{}", page.display());
    let printed = run(home, &examples);
    for (example, printed) in examples.iter().zip(&printed) {
        let told = format!("{}: $ {}\n{printed}", page.display(), example.command);
        assert!(fits(printed, &example.output), "{told}");
    }
    assert_eq!(printed.len(), examples.len());
}

fn can_mount() -> bool {
    let can = Path::new("/dev/fuse").exists();
    assert!(can || std::env::var_os("CBFS_REQUIRE_FUSE").is_none());
    can
}

#[test]
fn the_readme_does_what_it_shows() {
    if can_mount() {
        let home = tempfile::tempdir().unwrap();
        judge(Path::new("README.md"), home.path());
    }
}

#[test]
fn the_pages_do_what_they_show() {
    if !can_mount() {
        return;
    }
    // The questions of these two are judged in find.rs and tables.rs.
    let elsewhere = ["search.md", "data.md"].map(|name| root().join("docs").join(name));
    let pages = fs::read_dir(root().join("docs")).unwrap();
    let pages = pages.map(|entry| entry.unwrap().path());
    let pages: Vec<PathBuf> = pages
        .filter(|page| page.extension().is_some_and(|extension| extension == "md"))
        .filter(|page| !elsewhere.contains(page))
        .collect();
    let mut count = 0;
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        if !examples(&text).is_empty() {
            judge(&page, home_with_sample().path());
            count += 1;
        }
    }
    assert!(count > 5, "{count}");
}

/// Links between the pages lead to files that are there.
#[test]
fn links_lead_to_files() {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    let docs = fs::read_dir(root().join("docs")).unwrap();
    pages.extend(docs.map(|entry| entry.unwrap().path()));
    let mut count = 0;
    for page in pages {
        let Ok(text) = fs::read_to_string(&page) else {
            continue;
        };
        for after in text.split("](").skip(1) {
            let target = after.split([')', '#']).next().unwrap();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let path = page.parent().unwrap().join(target);
            assert!(path.exists(), "{}: {target}", page.display());
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}
