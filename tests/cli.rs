//! The command line: exit codes, messages, mounting and unmounting.
//!
//! Scripts that mount run in a mount namespace of their own, because a copy of
//! a mount in another namespace would keep its daemon alive.

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

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};

use common::daemon::Daemon;
use common::{copy_of_base, fixture, has_fuse, long_base};

const CBFS: &str = env!("CARGO_BIN_EXE_cbfs");

fn cbfs(arguments: &[&str]) -> Output {
    Command::new(CBFS).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The command fails with this code and says one line that holds all `parts`.
fn fails(arguments: &[&str], code: i32, parts: &[&str]) {
    let output = cbfs(arguments);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
    assert_eq!(errors.lines().count(), 1, "{arguments:?}: {errors}");
    assert!(errors.starts_with("cbfs: "), "{errors}");
    for part in parts {
        assert!(
            errors.contains(part),
            "{arguments:?}: no {part:?} in {errors}"
        );
    }
}

fn sample() -> String {
    fixture("cbh/sample/sample.cbh")
        .to_str()
        .unwrap()
        .to_owned()
}

/// Runs `script` in a mount namespace of its own, with `$cbfs`, `$base` and an
/// empty directory `$mnt`; it must succeed and gives what it printed. `gone
/// PID` waits until the process has ended.
fn in_namespace(base: &Path, script: &str) -> Option<String> {
    if !has_fuse() {
        return None;
    }
    let can_unshare = Command::new("unshare").args(["-m", "true"]).status();
    if !can_unshare.is_ok_and(|status| status.success()) {
        eprintln!("\n*** NOT TESTED: no mount namespaces here ***\n");
        assert!(
            std::env::var_os("CBFS_REQUIRE_FUSE").is_none(),
            "mount namespaces are required"
        );
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let prelude = "set -e\n\
        gone() { for i in $(seq 3000); do \
          grep -qs '^State:.[^Z]' /proc/$1/status || return 0; sleep 0.02; done; \
          echo \"$1 lives on\"; return 1; }\n\
        daemon() { for p in /proc/[0-9]*; do \
          tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -q -- \"--as-daemon.* $mnt \" \
          && echo ${p#/proc/}; done; true; }\n";
    let mountpoint = directory.path().join("mnt");
    std::fs::create_dir(&mountpoint).unwrap();
    let output = Command::new("unshare")
        .args(["-m", "--propagation", "private", "sh", "-c"])
        .arg(format!("{prelude}{script}"))
        .env("cbfs", CBFS)
        .env("base", base)
        .env("mnt", &mountpoint)
        .env("XDG_CACHE_HOME", directory.path().join("cache"))
        .current_dir(directory.path())
        .output()
        .unwrap();
    let (printed, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{script}\n{printed}\n{errors}");
    Some(printed.trim().to_owned())
}

fn in_sample(script: &str) -> Option<String> {
    in_namespace(&fixture("cbh/sample/sample.cbh"), script)
}

#[test]
fn help_and_version_exit_with_0_and_wrong_usage_with_2() {
    for arguments in [&["--help"][..], &["--version"], &["mount", "--help"]] {
        let output = cbfs(arguments);
        assert_eq!(output.status.code(), Some(0));
        assert!(!output.stdout.is_empty() && output.stderr.is_empty());
    }
    for arguments in [&[][..], &["frobnicate"], &["mount", "x"], &["export"]] {
        let output = cbfs(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
}

#[test]
fn mount_errors_are_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().to_str().unwrap();
    let base = &sample();
    let source = env!("CARGO_MANIFEST_DIR");
    fails(
        &["mount", base, "/no/such/place"],
        1,
        &["/no/such/place", "mkdir"],
    );
    fails(&["mount", base, base], 1, &["not a directory"]);
    fails(&["mount", base, source], 1, &["not empty", "nonempty"]);
    fails(&["mount", "/no/such.cbh", empty], 1, &["/no"]);
    fails(
        &["mount", "-o", "lang=de", base, empty],
        2,
        &["unknown mount option", "lang"],
    );
    fails(
        &["mount", "-o", "auto_unmount", base, empty],
        2,
        &["allow_other"],
    );
    for kind in ["2cbh", "cbv", "cbf", "txt"] {
        let other = directory.path().join(format!("base.{kind}"));
        std::fs::write(&other, "x").unwrap();
        let mountpoint = directory.path().join("mnt");
        std::fs::create_dir_all(&mountpoint).unwrap();
        let other = other.to_str().unwrap();
        let named = other.rsplit_once('.').map_or(other, |(stem, _)| stem);
        // Of a set of files, the one that is not there is named.
        fails(&["mount", other, mountpoint.to_str().unwrap()], 1, &[named]);
        fails(&["info", other], 1, &[named]);
        fails(&["export", other], 1, &[named]);
    }
    fails(&["info", empty], 1, &[empty, "a directory"]);
    fails(&["umount", "/no/such/place"], 1, &["/no/such/place"]);
    fails(&["umount", empty], 1, &["nothing is mounted there"]);
    if Path::new("/proc").exists() {
        fails(&["umount", "/proc"], 1, &["not a mount of cbfs"]);
    }
}

/// A name with what terminals and logs must not get, and as it is to be shown.
const HOSTILE: &str = "a\u{1b}[31m\nb\u{9b}\u{202e}";
const VISIBLE: &str = "a\\u{1b}[31m\\nb\\u{9b}\\u{202e}";

/// A copy of the sample base with that name, in a folder with that name.
fn hostile_base(directory: &Path) -> PathBuf {
    let folder = directory.join(HOSTILE);
    std::fs::create_dir(&folder).unwrap();
    for file in std::fs::read_dir(fixture("cbh/sample")).unwrap() {
        let file = file.unwrap().path();
        let extension = file.extension().unwrap().to_str().unwrap();
        std::fs::copy(&file, folder.join(format!("{HOSTILE}.{extension}"))).unwrap();
    }
    folder.join(format!("{HOSTILE}.cbh"))
}

/// Nothing in it moves a cursor, ends a line or turns text around.
fn assert_visible(what: &str, shown: &str) {
    let is_control =
        |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let lines: Vec<&str> = shown.lines().collect();
    assert!(!lines.concat().contains(is_control), "{what}: {shown:?}");
}

#[test]
fn messages_escape_control_characters() {
    let directory = tempfile::tempdir().unwrap();
    let base = hostile_base(directory.path());
    let file = |extension: &str| base.with_extension(extension).to_str().unwrap().to_owned();
    let (base, new, other) = (file("cbh"), file("new.cbh"), file("pgn"));
    std::fs::write(&other, "[White \"x\"]\n\n1. e5 *\n").unwrap();
    // One count is wrong.
    let mut players = std::fs::read(file("cbp")).unwrap();
    players[20] ^= 1;
    std::fs::write(file("cbp"), players).unwrap();
    for (arguments, lines) in [
        (&["info", &base][..], 0..50),
        (&["info", "--json", &base], 0..200),
        (&["check", &base], 2..3),
        (&["check", "--repair", &base], 2..3),
        (&["compact", &base, &base], 1..2),
        (&["export", &new], 1..2),
        (&["import", &base, &other], 1..2),
        (&["import", "--create", &base, &other], 1..2),
        (&["mount", &base, &new], 1..2),
        (&["mount", &base, directory.path().to_str().unwrap()], 1..2),
        (&["mount", "-o", HOSTILE, &base, &new], 1..2),
        (&["umount", &new], 1..2),
        (&[HOSTILE], 1..9),
        (&["check", &base, HOSTILE], 1..9),
        (&["check", &format!("--{HOSTILE}"), &base], 1..9),
        (&["info", "--codepage", HOSTILE, &base], 1..9),
    ] {
        let output = cbfs(arguments);
        let shown = text(&output.stdout) + &text(&output.stderr);
        assert_visible(&format!("{arguments:?}"), &shown);
        assert!(lines.contains(&shown.lines().count()), "{shown}");
        let is_json = arguments.contains(&"--json");
        let visible = shown.contains(VISIBLE) || shown.contains("not empty");
        assert!(is_json || visible, "{arguments:?}: {shown}");
    }
    let json = cbfs(&["info", "--json", &base]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["name"], HOSTILE);
}

#[test]
fn texts_of_a_mount_escape_control_characters() {
    if !has_fuse() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let base = hostile_base(directory.path());
    let mut daemon = Daemon::idle(&base);
    daemon.start(&["rw"]);
    let draft = daemon.at(&format!("games/{HOSTILE}.pgn"));
    let refused = common::daemon::save(&draft, "[White \"\u{1b}\"]\n\n1. e5 *\n");
    assert!(refused.is_err());
    let import = daemon.at(&format!("import/{HOSTILE}.pgn"));
    assert!(common::daemon::save(&import, "[Event \"\u{9b}\"]\n\n1. \u{9b}5 *\n").is_err());
    let import = daemon.at(&format!("import/{HOSTILE}~.pgn"));
    common::daemon::save(&import, "[Event \"x\"]\n\n1. e4 *\n").unwrap();
    let kept = std::fs::read_dir(daemon.at(".cbfs/rejected")).unwrap();
    let reasons = kept.map(|kept| kept.unwrap().path());
    let reasons = reasons.filter(|path| path.extension().is_some_and(|e| e == "txt"));
    let logs = std::fs::read_dir(daemon.at("import")).unwrap();
    let logs = logs.map(|log| log.unwrap().path());
    let logs = logs.filter(|path| path.extension().is_some_and(|e| e == "log"));
    let told = [".cbfs/status", ".cbfs/status.json"].map(|name| daemon.at(name));
    let files: Vec<PathBuf> = told.into_iter().chain(reasons).chain(logs).collect();
    assert!(files.len() >= 6, "{files:?}");
    for file in files {
        let shown = std::fs::read_to_string(&file).unwrap();
        assert_visible(&format!("{file:?}"), &shown);
    }
    assert!(
        std::fs::read_to_string(daemon.at(".cbfs/status"))
            .unwrap()
            .contains(VISIBLE)
    );
    daemon.end();
    let log = daemon.log();
    assert_visible("log", &log);
    assert!(log.contains(VISIBLE), "{log}");
}

#[test]
fn errors_of_opening_a_base_escape_control_characters() {
    let Some(printed) = in_sample(
        "mkdir shelf; name=$(printf 'a\\033[31m\\nb'); echo nonsense > \"shelf/$name.cbh\"\n\
         $cbfs mount -o ro shelf $mnt; cat $mnt/*/ERROR $mnt/.cbfs/status; $cbfs umount $mnt",
    ) else {
        return;
    };
    assert_visible("shelf", &printed);
    assert!(printed.contains("a\\u{1b}[31m\\nb.cbg"), "{printed}");
}

#[test]
fn the_mount_helper_follows_the_conventions_of_mount() {
    let helper = |arguments: &[&str]| {
        Command::new(CBFS)
            .arg0("/sbin/mount.fuse.cbfs")
            .args(arguments)
            .output()
            .unwrap()
    };
    assert_eq!(helper(&["x"]).status.code(), Some(1));
    let failed = helper(&[&sample(), "/no/such/place", "-o", "rw,nosuid"]);
    assert_eq!(failed.status.code(), Some(32), "{}", text(&failed.stderr));
    assert!(text(&failed.stderr).contains("mkdir"));
    let directory = tempfile::tempdir().unwrap();
    let fake = helper(&[
        &sample(),
        directory.path().to_str().unwrap(),
        "-sfnv",
        "-o",
        "rw",
    ]);
    assert_eq!(fake.status.code(), Some(0), "{}", text(&fake.stderr));
}

#[test]
fn info_as_text_and_json_agree() {
    let json: serde_json::Value =
        serde_json::from_slice(&cbfs(&["info", "--json", &sample()]).stdout).unwrap();
    let people = text(&cbfs(&["info", &sample()]).stdout);
    assert!(
        people.starts_with("sample: ChessBase database in "),
        "{people}"
    );
    for what in ["games", "deleted", "texts"] {
        let line = format!("{:>12}  {what}\n", json[what].as_u64().unwrap());
        assert!(people.contains(&line), "{people}");
    }
    assert!(json["games"].as_u64().unwrap() > 5);
    assert_eq!(json["name"], "sample");
}

#[test]
fn info_shows_contents_and_defects() {
    let report = |base: &str| -> serde_json::Value {
        let base = fixture(base);
        serde_json::from_slice(&cbfs(&["info", "--json", base.to_str().unwrap()]).stdout).unwrap()
    };
    let old = report("cbh/oldheaders/oldheaders.cbg");
    assert_eq!(
        old["missing"],
        serde_json::json!(["cbj", "cbe", "cbl", "cbtt"])
    );
    assert_eq!(old["cbj_version"], serde_json::Value::Null);
    let sample = report("cbh/sample/sample.cbj");
    assert_eq!(sample["missing"], serde_json::json!([]));
    assert_eq!(sample["defects"], serde_json::json!([]));
    assert_eq!(sample["files"][0]["name"], "sample.cbh");

    let damage = report("cbh/damage/damage.cbh");
    assert_eq!(damage["defects"][0]["file"], "cbh");
    assert_eq!(damage["defects"][0]["offset"], 6);
    let base = fixture("cbh/damage/damage.cbh");
    let people = text(&cbfs(&["info", base.to_str().unwrap()]).stdout);
    assert!(people.contains("defect  .cbh at 0x6: "), "{people}");
    let base = fixture("cbh/oldheaders/oldheaders.cbh");
    let people = text(&cbfs(&["info", base.to_str().unwrap()]).stdout);
    assert!(people.contains("-  teams: no .cbe\n"), "{people}");
}

/// The base holds Cyrillic names in Windows-1251.
fn cyrillic() -> String {
    let base = fixture("cbh/names-1251/names-1251.cbh");
    base.to_str().unwrap().to_owned()
}

#[test]
fn the_code_page_is_detected_or_given() {
    let base = &cyrillic();
    for (options, page, how) in [
        (&[][..], "windows-1251", "detected"),
        (&["--codepage", "cp1251"], "windows-1251", "given"),
        (&["--codepage", "1252"], "windows-1252", "given"),
    ] {
        let people = text(&cbfs(&[&["info", base], options].concat()).stdout);
        let line = format!("{page}  code page, {how}\n");
        assert!(people.contains(&line), "{people}");
        let json = cbfs(&[&["info", "--json", base], options].concat());
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(
            (&json["code_page"], &json["code_page_is"]),
            (&page.into(), &how.into())
        );
        let export = text(&cbfs(&[&["export", base], options].concat()).stdout);
        assert_eq!(export.contains("Ботвинник"), page == "windows-1251");
        assert_eq!(export.contains("Áîòâèííèê"), page == "windows-1252");
    }
}

#[test]
fn unknown_code_pages_are_refused_with_examples() {
    let base = &cyrillic();
    for command in [
        &["info", base][..],
        &["export", base],
        &["mount", base, "/"],
    ] {
        let output = cbfs(&[command, &["--codepage", "klingon"]].concat());
        assert_eq!(output.status.code(), Some(2));
        let errors = text(&output.stderr);
        assert!(
            errors.contains("klingon") && errors.contains("1251"),
            "{errors}"
        );
    }
    fails(
        &["mount", "-o", "codepage=klingon", base, "/"],
        2,
        &["codepage=klingon", "1251"],
    );
}

#[test]
fn a_mount_in_another_code_page_has_its_own_sizes() {
    in_namespace(
        Path::new(&cyrillic()),
        "one() { \"$cbfs\" mount -o ro \"$@\" \"$base\" \"$mnt\"; \
           grep -rqF \"$name\" $mnt/games; \
           for f in $mnt/games/*; do test $(stat -c %s $f) = $(cat $f | wc -c); done; \
           $cbfs umount $mnt; }\n\
         name=Ботвинник; one; one --codepage 1251\n\
         name=Áîòâèííèê; one --codepage 1252; one -o ro,codepage=cp1252",
    );
}

#[test]
fn a_directory_is_mounted_with_its_bases_in_it() {
    let Some(printed) = in_sample(
        "mkdir shelf other; cp ${base%.cbh}.* shelf; echo nonsense > shelf/bad.cbh\n\
         $cbfs mount -o ro shelf $mnt\n\
         test \"$(findmnt -no SOURCE $mnt)\" = \"$PWD/shelf\"\n\
         test \"$($cbfs mount -o ro shelf/bad.cbh other 2>&1)\" = \"cbfs: $(cat $mnt/bad/ERROR)\"\n\
         ls $mnt; grep -rlF '[White \"L' $mnt | wc -l\n\
         $cbfs mount -o ro -o nonempty shelf shelf 2>&1 | grep -o 'would be mounted over' \n\
         $cbfs umount $mnt",
    ) else {
        return;
    };
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[..2], ["bad", "sample"]);
    assert_ne!(lines[2], "0");
    assert_eq!(lines[3..], ["would be mounted over"]);
}

#[test]
fn an_export_contains_the_games_in_order() {
    let Some(printed) = in_sample(
        "$cbfs mount -o ro $base $mnt; cat $mnt/games/* > cat.pgn; $cbfs umount $mnt\n\
         $cbfs export $base > out.pgn; $cbfs export $base -o file.pgn\n\
         cmp cat.pgn out.pgn; cmp cat.pgn file.pgn; ls -A | tr '\\n' ' '",
    ) else {
        return;
    };
    assert_eq!(printed, "cache cat.pgn file.pgn mnt out.pgn");
}

#[test]
fn an_export_replaces_a_file_completely_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out.pgn");
    std::fs::write(&out, "before").unwrap();
    let nowhere = directory.path().join("no/such/out.pgn");
    fails(
        &["export", &sample(), "-o", nowhere.to_str().unwrap()],
        1,
        &["no/such/out.pgn"],
    );
    let output = cbfs(&["export", &sample(), "-o", nowhere.to_str().unwrap()]);
    assert!(!text(&output.stderr).contains("cbfs-export"), "{output:?}");
    fails(
        &["export", "/no/such.cbh", "-o", out.to_str().unwrap()],
        1,
        &[],
    );
    assert_eq!(std::fs::read(&out).unwrap(), b"before");
    let output = cbfs(&["export", &sample(), "-o", out.to_str().unwrap()]);
    assert!(output.status.success() && output.stderr.is_empty());
    assert!(std::fs::read(&out).unwrap().starts_with(b"[Event "));
}

#[test]
fn an_export_takes_the_place_of_no_file_of_a_base() {
    let folder = copy_of_base("cbh/sample");
    let base = folder.path().join("sample.cbh");
    let base = base.to_str().unwrap();
    for extension in ["cbh", "cbg", "cbe", "CBP", "ctg", "2cbh", "cbv"] {
        let file = folder.path().join("sample").with_extension(extension);
        if !file.exists() {
            std::fs::write(&file, "a file").unwrap();
        }
        let before = std::fs::read(&file).unwrap();
        let named = file.to_str().unwrap();
        fails(&["export", base, "-o", named], 1, &["name another file"]);
        assert_eq!(std::fs::read(&file).unwrap(), before, "{named}");
    }
}

#[test]
fn an_interrupted_export_leaves_no_files() {
    let base = long_base(1_000_000);
    let source = base.path().join("sample.cbh");
    for (signal, is_ignored) in [(2, false), (15, false), (1, false), (1, true)] {
        let directory = tempfile::tempdir().unwrap();
        let files = || -> Vec<String> {
            let entries = std::fs::read_dir(directory.path()).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name());
            names.map(|name| name.into_string().unwrap()).collect()
        };
        let out = directory.path().join("out.pgn");
        std::fs::write(&out, "before").unwrap();
        // As nohup does.
        let ignore = if is_ignored { "trap '' HUP; " } else { "" };
        // Whoever runs the tests may ignore it too.
        let mut export = Command::new("env")
            .args(["--default-signal=HUP,INT", "sh"])
            .args(["-c", &format!("{ignore}exec \"$@\""), "sh", CBFS, "export"])
            .args([&source, Path::new("-o"), &out])
            .spawn()
            .unwrap();
        while files().len() < 2 {
            assert!(export.try_wait().unwrap().is_none(), "it ended too early");
            std::thread::sleep(Duration::from_millis(1));
        }
        let pid = nix::unistd::Pid::from_raw(i32::try_from(export.id()).unwrap());
        kill(pid, Signal::try_from(signal).unwrap()).unwrap();
        if is_ignored {
            std::thread::sleep(Duration::from_millis(50));
            assert!(export.try_wait().unwrap().is_none(), "it does not go on");
            assert_eq!(files().len(), 2);
            kill(pid, Signal::SIGTERM).unwrap();
            export.wait().unwrap();
        } else {
            assert_eq!(export.wait().unwrap().signal(), Some(signal));
        }
        assert_eq!(files(), ["out.pgn"]);
        assert_eq!(std::fs::read(&out).unwrap(), b"before");
    }
}

#[test]
fn a_closed_pipe_ends_the_output_quietly() {
    for command in ["export", "info"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(CBFS)
            .args([command, &sample()])
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(141));
        assert_eq!(text(&output.stderr), "");
    }
}

#[test]
fn completions_are_of_what_is_there() {
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&cbfs(&["completions", shell]).stdout);
        assert!(script.contains("CBFS_COMPLETE"), "{script}");
    }
    let folder = tempfile::tempdir().unwrap();
    for name in ["mega.cbh", "mega.cbg", "notes.txt"] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let complete = |words: &[&str]| {
        let at = words.len().to_string();
        let output = Command::new(env!("CARGO_BIN_EXE_cbfs"))
            .args(["--", "cbfs"])
            .args(words)
            .current_dir(folder.path())
            .env("CBFS_COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", at)
            .env("_CLAP_IFS", "\n")
            .output()
            .unwrap();
        text(&output.stdout)
    };
    assert_eq!(complete(&["info", ""]), "mega.cbh");
    assert_eq!(complete(&["mount", "me"]), "mega.cbh");
    assert_eq!(
        complete(&["mount", "-o", "ro,allow_"]),
        "ro,allow_other\nro,allow_root"
    );
    assert!(complete(&["mount", "--codepage", "12"]).contains("1251"));
    assert!(!complete(&["mount", "--"]).contains("as-daemon"));
    assert!(!complete(&["umount", ""]).contains("mega.cbh"));
}

#[test]
fn the_manual_has_a_page_for_each_command_and_subject() {
    assert!(text(&cbfs(&["man"]).stdout).starts_with(".TH CBFS 1 "));
    let directory = tempfile::tempdir().unwrap();
    let written = cbfs(&["man", directory.path().to_str().unwrap()]);
    assert!(written.status.success(), "{written:?}");
    for page in ["cbfs.1", "cbfs-find.1", "mount.fuse.cbfs.8", "cbfs-tree.7"] {
        let page = fs::read_to_string(directory.path().join(page)).unwrap();
        for section in ["NAME", "DESCRIPTION", "SEE ALSO"] {
            assert!(page.contains(&format!(".SH {section}\n")), "{section}");
        }
        assert!(page.lines().all(|line| line.len() <= 80), "{page}");
    }
    if let Ok(lint) = Command::new("mandoc")
        .arg("-Tlint")
        .args(
            fs::read_dir(directory.path())
                .unwrap()
                .map(|entry| entry.unwrap().path()),
        )
        .output()
    {
        assert_eq!(text(&lint.stdout) + &text(&lint.stderr), "");
    }
}

#[test]
fn mount_returns_when_the_mount_is_ready() {
    let Some(printed) = in_sample(
        "$cbfs mount -o ro $base mnt\n\
         ls mnt/games | head -1; findmnt -no FSTYPE,SOURCE $mnt\n\
         cd mnt/games; test \"$(stat -c %s 000001.pgn)\" = \"$(cat 000001.pgn | wc -c)\"; cd ../..\n\
         $cbfs mount -o ro $base mnt 2>&1 || echo $?; $cbfs umount mnt",
    ) else {
        return;
    };
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], "000001.pgn");
    let base = sample();
    assert_eq!(
        lines[1].split_whitespace().collect::<Vec<_>>(),
        ["fuse.cbfs", &base]
    );
    assert!(lines[2].contains("is mounted there already"), "{printed}");
    assert_eq!(lines[3], "1");
}

#[test]
fn names_of_games_say_what_they_are_and_only_the_number_counts() {
    let base = copy_of_base("cbh/sample");
    let Some(printed) = in_namespace(
        &base.path().join("sample.cbh"),
        "$cbfs mount -o names=long $base mnt\n\
         cd mnt; ls games | sed -n 4,5p; ls players/Morphy*; ls deleted find/number:4/games\n\
         cmp games/000004.pgn 'games/000004 Morphy-Duke Karl ／ Count Isouard 1858 C41 1-0.pgn'\n\
         test games/000004.pgn -ef 'players/Morphy, Paul/000004 anything.pgn'\n\
         test ! -e 'games/4 x.pgn'; test ! -e 'games/000004-x.pgn'\n\
         sed -i 's/1858/1859/' games/000004*.pgn; ls games | sed -n 4p\n\
         test \"$(stat -c %h games/000004.pgn)\" = \"$(find games players tournaments annotators sources teams eco years -samefile games/000004.pgn | wc -l)\"\n\
         old=$(echo games/000004*); sed 's/1859/1858/' \"$old\" > games/t && mv games/t 'games/000004 then.pgn'\n\
         ! rm \"$old\" 2> /dev/null; ls games | sed -n 4p\n\
         old=$(echo games/000004*); sed 's/1858/1857/' \"$old\" > games/t && mv games/t \"$old\"\n\
         ! rm \"$old\" 2> /dev/null; sed -i 's/1857/1858/' games/000004.pgn\n\
         rm games/000005*; ls deleted | head -2; mv deleted/000005* games/\n\
         cp games/000001*.pgn /tmp/cbfs-long-$$.pgn; ls games | wc -l\n\
         cp /tmp/cbfs-long-$$.pgn 'games/a new one.pgn'; rm /tmp/cbfs-long-$$.pgn\n\
         ls games | tail -1; cd ..; grep -o names=long mnt/.cbfs/status; $cbfs umount mnt",
    ) else {
        return;
    };
    let opera = "000004 Morphy-Duke Karl ／ Count Isouard 1858 C41 1-0.pgn";
    let hastings = "000005 Steinitz-Von Bardeleben 1895 C54 1-0.pgn";
    let deleted = "000014 Gibaud-Lazard 1924 A45 0-1.pgn";
    let later = opera.replace("1858", "1859");
    assert_eq!(
        printed.lines().collect::<Vec<_>>(),
        [
            opera,
            hastings,
            opera,
            "deleted:",
            deleted,
            "",
            "find/number:4/games:",
            opera,
            &later,
            opera,
            hastings,
            deleted,
            "13",
            "a new one.pgn",
            "names=long",
        ]
    );
}

#[test]
fn a_service_of_the_user_mounts_after_each_login() {
    let directory = copy_of_base("cbh/sample");
    let at = |name: &str| directory.path().join(name);
    let place = at("my chess");
    fs::create_dir(&place).unwrap();
    fs::create_dir(at("bin")).unwrap();
    let fake = "#!/bin/sh\necho \"$@\" >> \"$0.log\"\n";
    fs::write(at("bin/systemctl"), fake).unwrap();
    fs::set_permissions(at("bin/systemctl"), fs::Permissions::from_mode(0o755)).unwrap();
    let run_at = |place: &Path, arguments: &[&str]| {
        Command::new(CBFS)
            .args(arguments)
            .arg(place)
            .env("XDG_CONFIG_HOME", at("config"))
            .env("PATH", format!("{}:/usr/bin:/bin", at("bin").display()))
            .current_dir(directory.path())
            .output()
            .unwrap()
    };
    let run = |arguments: &[&str]| run_at(&place, arguments);
    let ran = run(&["mount", "--user-service", "-o", "ro,hide=pgn", "sample.cbh"]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let units = at("config/systemd/user");
    let unit = fs::read_dir(&units)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let name = unit.file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("cbfs-") && name.ends_with("-my\\x20chess.service"),
        "{name}"
    );
    let written = fs::read_to_string(&unit).unwrap();
    let (program, base) = (Path::new(CBFS).display(), at("sample.cbh"));
    let expected = format!(
        "ExecStart=\"{program}\" \"mount\" \"--foreground\" \"-o\" \"ro,hide=pgn\" \"--\" \"{}\" \"{}\"\n",
        base.display(),
        place.display()
    );
    assert!(written.contains(&expected), "{written}{expected}");
    if let Ok(verified) = Command::new("systemd-analyze")
        .args(["--user", "verify"])
        .arg(&unit)
        .env("XDG_RUNTIME_DIR", directory.path())
        .output()
    {
        assert!(verified.status.success(), "{}", text(&verified.stderr));
    }
    // However the place is written, and by whatever link.
    std::os::unix::fs::symlink(&place, at("link")).unwrap();
    let spelled = run_at(Path::new("./link"), &["umount", "--user-service"]);
    assert!(spelled.status.success(), "{}", text(&spelled.stderr));
    let again = ["mount", "--user-service", "-o", "ro,hide=pgn", "sample.cbh"];
    assert!(run_at(&place.join("."), &again).status.success());
    let ran = run(&["umount", "--user-service"]);
    assert!(
        ran.status.success() && !unit.exists(),
        "{}",
        text(&ran.stderr)
    );
    assert_eq!(run(&["umount", "--user-service"]).status.code(), Some(1));
    let asked = fs::read_to_string(at("bin/systemctl.log")).unwrap();
    let expected = format!(
        "--user daemon-reload\n--user enable --now {name}\n--user disable --now {name}\n--user daemon-reload\n"
    );
    assert_eq!(asked, expected.repeat(2));
    fs::write(at("bin/systemctl"), "#!/bin/sh\nexit 1\n").unwrap();
    let failed = run(&["mount", "--user-service", "sample.cbh"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed.stderr).contains("systemctl --user enable --now"));
}

#[test]
fn what_was_done_is_done_also_if_it_cannot_be_printed() {
    let folder = copy_of_base("cbh/sample");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (base, pgn) = (at("sample.cbh"), at("new.pgn"));
    fs::write(&pgn, "1. e4 e5 *\n").unwrap();
    let into_full = |arguments: &[&str]| {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(CBFS);
        command.args(arguments).stdout(full).output().unwrap()
    };
    let games = || {
        let exported = text(&cbfs(&["export", &base]).stdout);
        let by_morphy = exported.matches("[White \"Morphy").count();
        [exported.matches("[Event ").count() - by_morphy, by_morphy]
    };
    let [others, by_morphy] = games();
    assert_ne!(by_morphy, 0);
    for (arguments, done) in [
        (&["import", &base, &pgn][..], "done: 1 game appended as "),
        (
            &["delete", &base, "white:Morphy", "--yes"],
            "marked as deleted",
        ),
    ] {
        let ran = into_full(arguments);
        let told = text(&ran.stderr);
        assert!(ran.status.success(), "{arguments:?}: {told}");
        assert!(
            told.contains("standard output: No space left on device"),
            "{told}"
        );
        assert!(told.contains(done), "{told}");
    }
    assert_eq!(games(), [others + 1, 0]);
    // What only tells something has not done that.
    let ran = into_full(&["import", "--dry-run", &base, &pgn]);
    assert_eq!(ran.status.code(), Some(1), "{}", text(&ran.stderr));
}

#[test]
fn an_export_is_written_where_a_link_leads() {
    let folder = copy_of_base("cbh/sample");
    let at = |name: &str| folder.path().join(name);
    let export = |output: &Path| {
        let output = output.to_str().unwrap();
        cbfs(&["export", &sample(), "--output", output])
            .status
            .code()
    };
    let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, at(name)).unwrap();
    fs::create_dir(at("folder")).unwrap();
    link("folder/games.pgn", "second");
    link("second", "first");
    // First there is no file, then one that is replaced.
    for _ in 0..2 {
        assert_eq!(export(&at("first")), Some(0));
        assert!(at("first").is_symlink() && at("second").is_symlink());
        assert!(
            fs::read_to_string(at("folder/games.pgn"))
                .unwrap()
                .contains("[Event ")
        );
        fs::write(at("folder/games.pgn"), "old").unwrap();
    }
    link("circle", "circle");
    assert_eq!(export(&at("circle")), Some(1));
    assert!(at("circle").is_symlink());
}

#[test]
fn a_mount_is_made_read_only_and_can_be_written_again() {
    let base = copy_of_base("cbh/sample");
    let Some(printed) = in_namespace(
        &base.path().join("sample.cbh"),
        "ln -s $cbfs mount.fuse.cbfs\n\
         remount() { ./mount.fuse.cbfs $base $mnt -n -o $1,remount,uid=0 2>&1 || echo $?; }\n\
         $cbfs mount -o nodev $base mnt\n\
         sed -i s/Morphy/Murphy/ mnt/games/000004.pgn; remount ro\n\
         findmnt -no VFS-OPTIONS mnt | grep -o 'ro\\|nodev'; findmnt -no FS-OPTIONS mnt | grep -o '^ro'\n\
         echo x > mnt/games/000004.pgn || echo refused\n\
         grep -c Murphy mnt/games/000004.pgn\n\
         remount rw; sed -i s/Murphy/Morphy/ mnt/games/000004.pgn; grep -c Morphy mnt/games/000004.pgn\n\
         exec 3>> mnt/games/000004.pgn; remount ro; exec 3>&-\n\
         $cbfs umount mnt; remount ro; $cbfs mount -o ro $base mnt; remount rw; $cbfs umount mnt",
    ) else {
        return;
    };
    let printed = printed.lines().map(|line| match line.split_once("/mnt: ") {
        Some((_, said)) => format!("mnt: {said}"),
        None => line.to_owned(),
    });
    assert_eq!(
        printed.collect::<Vec<_>>(),
        [
            "ro",
            "nodev",
            "ro",
            "refused",
            "1",
            "1",
            "mnt: a file in it is open to be written; close it first",
            "32",
            "mnt: nothing of cbfs is mounted there",
            "32",
            "mnt: it was mounted read-only; unmount it, and mount it again",
            "32",
        ]
    );
}

#[test]
fn a_clean_mount_has_no_private_tags_and_is_read_only() {
    let export = text(&cbfs(&["export", &sample(), "--clean"]).stdout);
    let whole = text(&cbfs(&["export", &sample()]).stdout);
    assert!(whole.contains("[CbhLang"));
    assert!(!export.contains("[Cbh") && export.contains("{Played in a box"));
    for option in ["--clean", "-o clean"] {
        let Some(printed) = in_sample(&format!(
            "$cbfs mount {option} $base mnt\n\
             cat mnt/games/*.pgn | grep -c Cbh || true; cat mnt/pgn/all.pgn | wc -c\n\
             echo x > mnt/games/000001.pgn || echo refused\n\
             grep -c clean mnt/.cbfs/status; $cbfs umount mnt\n\
             $cbfs mount {option} -o rw $base mnt 2>&1 || echo $?",
        )) else {
            return;
        };
        let lines: Vec<&str> = printed.lines().collect();
        let length = export.len().to_string();
        assert_eq!(lines[..4], ["0", &length, "refused", "1"], "{printed}");
        assert!(lines[4].contains("clean"), "{printed}");
        assert_eq!(lines[5], "1");
    }
}

#[test]
fn any_file_of_the_set_names_the_base_in_any_letter_case() {
    let directory = copy_of_base("cbh/sample");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.starts_with("sample.") {
            continue;
        }
        // SAMPLE.CBH, sample.cbg, SAMPLE.CBJ …
        let other = match names.len() % 2 {
            0 => name.to_uppercase(),
            _ => name.clone(),
        };
        std::fs::rename(&path, directory.path().join(&other)).unwrap();
        names.push(other);
    }
    assert!(names.len() > 10, "{names:?}");
    let other_case = names.iter().map(|name| name.to_lowercase());
    for name in names.iter().cloned().chain(other_case) {
        let path = directory.path().join(&name);
        let output = cbfs(&["info", "--json", path.to_str().unwrap()]);
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (&json["games"], &json["missing"]),
            (&13.into(), &serde_json::json!([]))
        );
    }
}

#[test]
fn a_base_needs_all_but_its_optional_files() {
    let directory = copy_of_base("cbh/sample");
    let base = directory.path().join("sample.cbh");
    let base = base.to_str().unwrap();
    for (file, holds) in [
        ("cbg", "moves"),
        ("cba", "annotations"),
        ("cbp", "players"),
        ("cbt", "tournaments"),
        ("cbc", "annotators"),
        ("cbs", "sources"),
    ] {
        let path = directory.path().join(format!("sample.{file}"));
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let name = format!("sample.{file}: not found");
        for command in ["info", "export"] {
            fails(&[command, base], 1, &[&name, holds]);
        }
        std::fs::write(&path, bytes).unwrap();
    }
    for file in ["cbj", "cbe", "cbl", "cbtt", "cbm", "ini"] {
        std::fs::remove_file(directory.path().join(format!("sample.{file}"))).unwrap();
    }
    let export = text(&cbfs(&["export", base]).stdout);
    assert_eq!(export.matches("[Event ").count(), 13);
}

#[test]
fn a_game_has_the_same_number_on_every_mount() {
    in_sample(
        "one() { $cbfs mount -o ro $base $mnt; (cd $mnt; find . -printf '%i %p\\n' | sort) > $1; \
           test \"$(find $mnt/games -inum $(stat -c %i $mnt/games/000005.pgn))\" = $mnt/games/000005.pgn; \
           $cbfs umount $mnt; }\n\
         one first; one second; cmp first second\n\
         grep -E ' \\.(/(games|texts|deleted).*)?$' first > own; test $(wc -l < own) = 19\n\
         test -z \"$(cut -d' ' -f1 own | sort | uniq -d)\"",
    );
}

#[test]
fn the_base_is_shown_as_the_source_whatever_its_path() {
    let directory = copy_of_base("cbh/sample");
    let odd = directory.path().join(r"my, base\rw ümlaut");
    std::fs::create_dir(&odd).unwrap();
    for entry in std::fs::read_dir(directory.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::rename(&path, odd.join(path.file_name().unwrap())).unwrap();
        }
    }
    let base = odd.join("sample.cbh");
    let script = "$cbfs mount -o ro \"$base\" $mnt; LC_ALL=C.UTF-8 findmnt -no FSTYPE,SOURCE $mnt; $cbfs umount $mnt";
    if let Some(printed) = in_namespace(&base, script) {
        assert_eq!(printed, format!("fuse.cbfs {}", base.display()));
    }
}

#[test]
fn every_way_to_unmount_ends_the_daemon() {
    for (end, busy) in [
        ("umount mnt", false),
        ("fusermount3 -u mnt", false),
        ("$cbfs umount mnt", false),
        ("$cbfs umount mnt", true),
        ("umount -l mnt", true),
        ("kill $p", false),
        ("kill $p", true),
        ("kill -INT $p", true),
    ] {
        let (open, close) = if busy {
            ("exec 5<mnt/games/000001.pgn", "exec 5<&-")
        } else {
            ("", "")
        };
        // By signal it ends although the file is open; by umount when it is
        // closed.
        let (before, after) = if end.starts_with("kill") {
            ("gone $p", close)
        } else {
            (close, "gone $p")
        };
        let script = format!(
            "$cbfs mount -o ro $base $mnt; p=$(daemon); test -n \"$p\"; {open}\n\
             {end}; {before}\n{after}\n! findmnt $mnt"
        );
        if in_sample(&script).is_none() {
            return;
        }
    }
}

#[test]
fn umount_ends_the_daemon_of_a_mount_in_use() {
    let base = copy_of_base("cbh/sample");
    let script = "export XDG_STATE_HOME=$PWD/state\n\
         $cbfs mount -o rw $base $mnt; p=$(daemon); test -n \"$p\"\n\
         (cd $mnt/games; exec sleep 600) > /dev/null 2>&1 & s=$!\n\
         trap \"kill $s\" EXIT\n\
         for i in $(seq 3000); do \
           test \"$(readlink /proc/$s/cwd)\" = $mnt/games && break; sleep 0.02; done\n\
         exec 5>> $mnt/games/000001.pgn; printf '{not yet' >&5\n\
         $cbfs umount $mnt\n\
         if grep -qs '^State:.[^Z]' /proc/$p/status; then echo \"$p lives on\"; fi\n\
         $cbfs mount -o rw $base $mnt; ls $mnt/.cbfs/rejected\n\
         tail -c 8 $mnt/.cbfs/rejected/000001.pgn; exec 5>&-; $cbfs umount $mnt";
    if let Some(printed) = in_namespace(&base.path().join("sample.cbh"), script) {
        assert_eq!(printed, "000001.pgn\n000001.txt\n{not yet");
    }
}

#[test]
fn a_rejected_draft_appears_at_once_after_a_failed_lookup() {
    let base = copy_of_base("cbh/sample");
    let script = "export XDG_STATE_HOME=$PWD/state; $cbfs mount -o rw $base $mnt\n\
         if cat $mnt/.cbfs/rejected/000001.txt 2> /dev/null; then echo too early; fi\n\
         printf '[Event ' > $mnt/games/000001.pgn 2> /dev/null || true\n\
         cat $mnt/.cbfs/rejected/000001.txt; $cbfs umount $mnt";
    if let Some(printed) = in_namespace(&base.path().join("sample.cbh"), script) {
        assert!(printed.contains("line 1"), "{printed}");
    }
}

#[test]
fn the_status_shows_writability_and_given_options() {
    let base = copy_of_base("cbh/sample");
    let status = "grep -E '^(read only|options):' $mnt/.cbfs/status; \
         grep 'read_only\"' $mnt/.cbfs/status.json; $cbfs umount $mnt";
    let script = format!(
        "$cbfs mount -o rw --drop-foreign-tags $base $mnt; {status}\n\
         $cbfs mount -o ro,codepage=1251,scratch_size=2M,fsname=mine $base $mnt; {status}\n\
         $cbfs mount ${{base%/*}} $mnt; ls $mnt/sample > /dev/null; \
         grep -h 'read_only\"' $mnt/.cbfs/status.json $mnt/sample/.cbfs/status.json; $cbfs umount $mnt"
    );
    let Some(printed) = in_namespace(&base.path().join("sample.cbh"), &script) else {
        return;
    };
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = printed.lines().map(words).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let [rw, rw_options, rw_json, ro, ro_options, ro_json, rest @ ..] = &lines[..] else {
        panic!("{printed}");
    };
    assert_eq!((*rw, *rw_json), ("read only: no", "\"read_only\": false,"));
    assert_eq!((*ro, *ro_json), ("read only: yes", "\"read_only\": true,"));
    assert!(rw_options.ends_with(",drop_foreign_tags"), "{rw_options}");
    let asked = ",codepage=windows-1251,scratch_size=2097152,fsname=mine";
    assert!(ro_options.ends_with(asked), "{ro_options}");
    assert_eq!(rest, ["\"read_only\": false,"; 2]);
}

#[test]
fn a_mount_can_be_archived_right_after_a_save() {
    // A base, and a directory of bases.
    for (source, root) in [("$base", "$mnt"), ("${base%/*}", "$mnt/sample")] {
        let base = copy_of_base("cbh/sample");
        let script = format!(
            "$cbfs mount -o rw {source} $mnt; game={root}/games/000001.pgn\n\
             root() {{ stat -c '%.Y %.Z %s' $mnt {root}; }}\n\
             sed 's/^\\[Event \"/&X/' $game > new; root > before; cp new $game\n\
             tar cf new.tar -C $mnt . 2>&1; root > after; cmp before after\n\
             grep -c '^\\[Event \"X' $game; $cbfs umount $mnt"
        );
        let Some(printed) = in_namespace(&base.path().join("sample.cbh"), &script) else {
            return;
        };
        assert_eq!(printed, "1", "{source}");
    }
}

#[test]
fn a_missing_source_of_a_book_is_reported_and_not_listed() {
    let folder = fixture("cbh/sample").display().to_string();
    let script = format!(
        "look() {{ ls -l $mnt/games/2 | grep -c pgn || true; \
           grep -c 'source 2: .*is not found.*--source-map' $mnt/warnings.txt || true; \
           sed -n 's/^2\tcbh\t\\(.\\).*/\\1/p' $mnt/games/sources.tsv; \
           head -c 6 $mnt/games/2/000000.pgn 2>&1 | tail -c 6; echo; $cbfs umount $mnt; }}\n\
         $cbfs mount $base $mnt; look; $cbfs mount --source-map 'C:\\bases={folder}' $base $mnt; look"
    );
    if let Some(printed) = in_namespace(&fixture("book/kvetka.kin"), &script) {
        let lines = printed.lines().filter(|line| !line.is_empty());
        let lines: Vec<&str> = lines.collect();
        let expected = ["0", "1", "0", "ctory", "1", "0", "1", "[Event"];
        assert_eq!(lines, expected);
    }
}

#[test]
fn a_directory_without_bases_is_reported() {
    let empty = tempfile::tempdir().unwrap();
    std::fs::create_dir(empty.path().join("deeper")).unwrap();
    let script = "$cbfs mount $base $mnt 2>&1; $cbfs umount $mnt";
    if let Some(printed) = in_namespace(empty.path(), script) {
        assert_eq!(printed.lines().count(), 1, "{printed}");
        assert!(
            printed.contains("no base, archive or opening book"),
            "{printed}"
        );
    }
}

#[test]
fn a_foreground_mount_ends_with_0_and_ignores_sighup() {
    in_sample(
        "$cbfs mount -o ro -f $base mnt & p=$!\n\
         for i in $(seq 3000); do test -d mnt/games && break; sleep 0.02; done\n\
         kill -HUP $p; sleep 0.1; ls mnt/games > /dev/null\n\
         kill $p; wait $p; ! findmnt $mnt",
    );
}

#[test]
fn the_mount_of_a_dead_daemon_is_recognized_and_removed() {
    let Some(printed) = in_sample(
        "$cbfs mount -o ro $base $mnt; kill -9 $(daemon); sleep 0.1\n\
         $cbfs mount -o ro $base mnt 2>&1 || true; $cbfs umount mnt; $cbfs mount -o ro $base mnt; ls mnt\n\
         $cbfs umount mnt",
    ) else {
        return;
    };
    assert!(
        printed.contains("has died; end it with `cbfs umount"),
        "{printed}"
    );
    assert!(
        printed.ends_with("teams\ntexts\ntournaments\ntree\nyears"),
        "{printed}"
    );
}

#[test]
fn systemd_is_notified_when_the_mount_is_ready() {
    let Some(printed) = in_sample(
        "python3 - <<'E'\n\
         import os, socket, subprocess\n\
         s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('notify'); s.settimeout(10)\n\
         env = dict(os.environ, NOTIFY_SOCKET=os.path.abspath('notify'))\n\
         p = subprocess.Popen([env['cbfs'], 'mount', '-f', '-o', 'ro', env['base'], 'mnt'], env=env)\n\
         print(s.recv(100).decode().strip(), sorted(os.listdir('mnt'))[:4])\n\
         p.terminate(); print(p.wait())\n\
         E",
    ) else {
        return;
    };
    assert_eq!(
        printed,
        "READY=1 ['.cbfs', 'annotators', 'deleted', 'eco']\n0"
    );
}

#[test]
fn the_cache_keeps_its_limit() {
    let base = long_base(20_000);
    let used = |options: &str| {
        let script = format!(
            "$cbfs mount -o ro {options} $base $mnt; cat $mnt/games/* | wc -c\n\
             grep -Po '^RssAnon:\\s*\\K\\d+' /proc/$(daemon)/status; $cbfs umount $mnt"
        );
        let printed = in_namespace(&base.path().join("sample.cbh"), &script)?;
        let mut numbers = printed.lines().map(|line| line.parse::<u64>().unwrap());
        Some((numbers.next().unwrap() >> 10, numbers.next().unwrap()))
    };
    let Some((text, with_room)) = used("--cache-size 1G") else {
        return;
    };
    let (_, with_little) = used("--cache-size 1M").unwrap();
    let (_, with_none) = used("-o cache_size=0").unwrap();
    println!(
        "{text} KiB of text; memory {with_room}, with 1 MiB {with_little}, with 0 {with_none}"
    );
    assert!(with_room > text);
    assert!(with_little + text * 9 / 10 < with_room);
    assert!(with_none + text * 9 / 10 < with_room);
}

/// Each game reads as it was, as a new mount shows it, or not at all; at least
/// one is found to be gone, unless the cut is noticed first and all are as a new
/// mount shows them; and so they are in the end.
#[test]
fn a_file_truncated_while_mounted_is_an_error_for_the_missing_part() {
    for (file, left) in [
        ("cbh", 46),
        ("cbh", 92),
        ("cbg", 0),
        ("cbp", 32),
        ("cbt", 32),
        ("cbj", 32),
        ("cbj", 32 + 120),
    ] {
        let base = copy_of_base("cbh/sample");
        let script = format!(
            "read_all() {{ mkdir -p $2; for name in $names; do \
               cat $1/games/$name > $2/$name 2> $2/error || {{ rm $2/$name; cat $2/error; }}; done; }}\n\
             names=$(seq -f %06g.pgn 13); mkdir new\n\
             $cbfs mount -o ro $base new; read_all new before > none; $cbfs umount new\n\
             [ -s before/000013.pgn ]\n\
             $cbfs mount -o ro --cache-size 0 $base $mnt; p=$(daemon)\n\
             ls $mnt/games > none; truncate -s {left} ${{base%cbh}}{file}\n\
             read_all $mnt after > errors; grep -v 'Input/output\\|No such\\|Stale' errors || true\n\
             $cbfs mount -o ro $base new 2> none; read_all new other > others; $cbfs umount new\n\
             [ -s errors ] || diff -rq -x error other after || echo none is gone\n\
             for name in $(cd after; ls *.pgn || true); do \
               cmp -s after/$name before/$name || cmp after/$name other/$name || true; done\n\
             for i in $(seq 300); do rm -rf last; read_all $mnt last > none; \
               diff -rq -x error other last > differ && break; sleep 0.2; done\n\
             cat differ; kill -0 $p; $cbfs umount $mnt; gone $p; echo it lives"
        );
        let Some(printed) = in_namespace(&base.path().join("sample.cbh"), &script) else {
            return;
        };
        assert_eq!(printed, "it lives", "{file} {left}");
    }
}

#[test]
fn a_listing_of_a_truncated_base_shows_the_rest() {
    let base = long_base(5_000);
    let Some(printed) = in_namespace(
        &base.path().join("sample.cbh"),
        "for how in on off; do\n\
         $cbfs mount -o ro -o readdirplus=$how $base $mnt; truncate -s $((46 * 3001)) $base\n\
         ls -f $mnt/games 2> error | wc -l; grep -v 'Input/output' error || true\n\
         $cbfs umount $mnt; truncate -s $((46 * 5001)) $base; done",
    ) else {
        return;
    };
    // With . and ..; the error is not seen if the cut was noticed before.
    assert_eq!(printed, "3002\n3002");
}

#[test]
fn the_table_of_headers_is_there_for_awk_and_wc() {
    // After the line of names, as many lines as games, deleted ones included.
    let Some(printed) = in_sample(
        "$cbfs mount -o ro $base $mnt; cd $mnt\n\
         stat -c %s headers.tsv; wc -c < headers.tsv; cat headers.tsv | wc -c\n\
         wc -l < headers.tsv; ls games deleted | grep -c pgn\n\
         awk -F'\\t' '$2 ~ /^Anderssen/ && $7 < \"1852\" { print $1, $3 }' headers.tsv\n\
         cut -f1 headers.tsv | tail -1; tail -c 2 headers.tsv; cd /; $cbfs umount $mnt",
    ) else {
        return;
    };
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0] == lines[1] && lines[1] == lines[2], "{printed}");
    let number = |at: usize| lines[at].parse::<u32>().unwrap();
    assert_eq!(number(3), number(4) + 1, "{printed}");
    assert_eq!(lines[5..], ["2 Kieseritzky, Lionel", "14", "1"]);
}

#[test]
fn with_xattr_a_game_has_its_headers_as_attributes() {
    let Some(printed) = in_sample(
        "$cbfs mount -o ro -o xattr $base $mnt; python3 - $mnt <<'E'\n\
         import ctypes, errno, os, sys\n\
         mnt = sys.argv[1]; game = mnt + '/games/000002.pgn'\n\
         names = os.listxattr(game)\n\
         assert 'user.cbh.white_elo' not in names and 'user.cbh.number' not in names, names\n\
         for name in names: print(name, os.getxattr(game, name).decode())\n\
         def refused(call, *arguments):\n\
        \x20   try: call(*arguments)\n\
        \x20   except OSError as error: return errno.errorcode[error.errno]\n\
         for name in ('user.cbh.white_elo', 'user.cbh.number', 'user.cbh', 'user.other', 'trusted.other'):\n\
        \x20   print(name, refused(os.getxattr, game, name))\n\
         print(refused(os.setxattr, game, 'user.cbh.white', b'x'), refused(os.removexattr, game, 'user.cbh.white'))\n\
         libc = ctypes.CDLL(None, use_errno=True); path = game.encode(); room = ctypes.create_string_buffer(999)\n\
         for size in (0, 16, 15, 1):\n\
        \x20   length = libc.getxattr(path, b'user.cbh.white', room, size)\n\
        \x20   print(size, length if length >= 0 else errno.errorcode[ctypes.get_errno()])\n\
         length = libc.listxattr(path, None, 0)\n\
         print(length == sum(len(name) + 1 for name in names), libc.listxattr(path, room, length - 1))\n\
         print(os.listxattr(mnt), os.listxattr(mnt + '/games'), os.listxattr(mnt + '/headers.tsv'))\n\
         E\n\
         $cbfs umount $mnt",
    ) else {
        return;
    };
    let expected = "\
        user.cbh.white Anderssen, Adolf\n\
        user.cbh.black Kieseritzky, Lionel\n\
        user.cbh.result 1-0\n\
        user.cbh.date 1851.06.21\n\
        user.cbh.eco C33\n\
        user.cbh.event Casual game\n\
        user.cbh.site London\n\
        user.cbh.source Old masters\n\
        user.cbh.moves 23\n\
        user.cbh.medals 65\n\
        user.cbh.deleted 0\n\
        user.cbh.white_elo ENODATA\n\
        user.cbh.number ENODATA\n\
        user.cbh ENODATA\n\
        user.other ENODATA\n\
        trusted.other ENOTSUP\n\
        EROFS EROFS\n\
        0 16\n16 16\n15 ERANGE\n1 ERANGE\n\
        True -1\n\
        [] [] []";
    assert_eq!(printed, expected);
}

#[test]
fn without_xattr_there_are_no_attributes() {
    let Some(printed) = in_sample(
        "$cbfs mount -o ro $base $mnt; python3 - $mnt <<'E'\n\
         import errno, os, sys\n\
         game = sys.argv[1] + '/games/000002.pgn'\n\
         for call in (lambda: os.listxattr(game), lambda: os.getxattr(game, 'user.cbh.white')):\n\
        \x20   try: print(call())\n\
        \x20   except OSError as error: print(errno.errorcode[error.errno])\n\
         E\n\
         $cbfs umount $mnt",
    ) else {
        return;
    };
    assert_eq!(printed, "ENOTSUP\nENOTSUP");
}

fn check(base: &Path) -> Output {
    cbfs(&["check", base.to_str().unwrap()])
}

#[test]
fn a_check_of_a_sound_base_ends_with_0_and_a_summary() {
    let base = fixture("cbh/sample/sample.cbh");
    for file in ["sample.cbh", "sample.cbp"] {
        let output = check(&base.with_file_name(file));
        assert_eq!(output.status.code(), Some(0));
        let expected = format!("{}: sound (15 records)\n", base.display());
        assert_eq!(text(&output.stdout), expected);
        assert_eq!(text(&output.stderr), "", "there is no bar in a pipe");
    }
    let output = cbfs(&["--quiet", "check", base.to_str().unwrap()]);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), String::new())
    );
}

#[test]
fn a_check_of_a_damaged_base_ends_with_1_and_a_line_for_each_defect() {
    let directory = copy_of_base("cbh/sample");
    let base = directory.path().join("sample.cbh");
    let mut headers = std::fs::read(&base).unwrap();
    // The number of moves of the first game.
    headers[46 + 45] = 200;
    std::fs::write(&base, headers).unwrap();
    let moves = base.with_extension("cbg");
    let bytes = std::fs::read(&moves).unwrap();
    std::fs::write(&moves, &bytes[..840]).unwrap();
    let output = check(&base);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "", "all is said on standard output");
    let printed = text(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    let (summary, lines) = lines.split_last().unwrap();
    let in_base = |extension| base.with_extension(extension).display().to_string();
    assert_eq!(lines.len(), 4, "{printed}");
    for (line, start) in lines.iter().zip([
        format!(
            "{} at 0x2: 851 bytes claimed, the file has 840",
            in_base("cbg")
        ),
        format!(
            "{} at 0xa: 851 bytes claimed, the file has 840",
            in_base("cbg")
        ),
        format!("{} at 0x5b: game 1 claims 200 moves", in_base("cbh")),
        format!("{} at 0x", in_base("cbg")),
    ]) {
        assert!(line.starts_with(&start), "{line}\n{start}");
    }
    assert!(lines[3].ends_with("left)"), "{printed}");
    assert_eq!(
        *summary,
        format!("{}: 4 defects (15 records)", in_base("cbh"))
    );
    assert_eq!(text(&check(&base).stdout), printed, "each time the same");
}

#[test]
fn a_check_as_json_says_the_same() {
    let directory = copy_of_base("cbh/sample");
    let base = directory.path().join("sample.cbh");
    let report = |source: &Path, code: i32| -> serde_json::Value {
        let output = cbfs(&["check", "--json", source.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let none = serde_json::json!([]);
    let sound = report(&base, 0);
    assert_eq!((&sound["defects"], &sound["records"]), (&none, &15.into()));
    assert_eq!(
        (&sound["sound"], sound["error"].is_null()),
        (&true.into(), true)
    );
    let book = report(&fixture("book/small/small.ctb"), 0);
    assert_eq!(
        (&book["positions"], &book["unreachable"]),
        (&107.into(), &3.into())
    );
    let archive = report(&fixture("archive/sample.cbv"), 0);
    assert_eq!(archive["records"], 15);

    let mut headers = std::fs::read(&base).unwrap();
    headers[46 + 45] = 200;
    std::fs::write(&base, headers).unwrap();
    let trees = base.with_extension("cbp");
    let bytes = std::fs::read(&trees).unwrap();
    // The number of players.
    std::fs::write(&trees, [&bytes[..20], &[99], &bytes[21..]].concat()).unwrap();
    let damaged = report(&base, 1);
    let defects = damaged["defects"].as_array().unwrap();
    let printed = text(&check(&base).stdout);
    let lines = defects.iter().map(|defect| {
        let [file, what] = ["file", "what"].map(|field| defect[field].as_str().unwrap());
        assert_eq!(defect["repaired"], false);
        format!(
            "{file} at {:#x}: {what}\n",
            defect["offset"].as_u64().unwrap()
        )
    });
    let lines: String = lines.collect();
    assert!(
        !lines.is_empty() && printed.starts_with(&lines),
        "{printed}{lines}"
    );
    assert_eq!(damaged["sound"], false);

    let repaired = cbfs(&["check", "--repair", "--json", base.to_str().unwrap()]);
    let repaired: serde_json::Value = serde_json::from_slice(&repaired.stdout).unwrap();
    let of_all = repaired["defects"].as_array().unwrap().iter();
    assert!(
        of_all.clone().any(|defect| defect["repaired"] == true),
        "{repaired}"
    );
    assert_eq!(report(&base, 0)["sound"], true);

    std::fs::remove_file(base.with_extension("cbg")).unwrap();
    let failed = report(&base, 2);
    assert!(
        failed["error"]
            .as_str()
            .unwrap()
            .contains("without its moves")
    );
    assert_eq!(failed["sound"], false);
}

#[test]
fn a_required_file_of_another_format_is_one_defect() {
    let directory = copy_of_base("cbh/sample");
    let base = directory.path().join("sample.cbh");
    std::fs::write(base.with_extension("cbp"), [0; 28]).unwrap();
    let output = check(&base);
    assert_eq!(output.status.code(), Some(1));
    let expected = format!(
        "{} at 0x8: not an entity file: the signature is missing; none of its records are read\n\
         {}: 1 defect (15 records)\n",
        base.with_extension("cbp").display(),
        base.display()
    );
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn a_failed_check_ends_with_2_and_one_line() {
    let directory = copy_of_base("cbh/sample");
    let base = directory.path().join("sample.cbh");
    std::fs::remove_file(base.with_extension("cbg")).unwrap();
    for (source, part) in [
        (Path::new("/no/such.cbh"), "/no"),
        (&directory.path().join("other.cbh"), "not found"),
        (&base, "cannot be read without its moves"),
        (Path::new("/tmp/x.2cbh"), "x.2cbh: not found"),
        (directory.path(), "a directory"),
    ] {
        let output = check(source);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert_eq!(
            (errors.lines().count(), text(&output.stdout)),
            (1, String::new())
        );
        assert!(
            errors.starts_with("cbfs: ") && errors.contains(part),
            "{errors}"
        );
    }
}

#[test]
fn a_book_is_described_checked_and_exported_like_a_base() {
    let book = fixture("book/small/small.ctb");
    let book = book.to_str().unwrap();
    let json: serde_json::Value =
        serde_json::from_slice(&cbfs(&["info", "--json", book]).stdout).unwrap();
    assert_eq!(json["kind"], "book");
    assert_eq!(json["pages"], 19);
    assert_eq!(json["defects"], serde_json::json!([]));
    let checked = cbfs(&["check", book]);
    assert_eq!(checked.status.code(), Some(0));
    assert_eq!(
        text(&checked.stdout),
        "small: sound (107 positions, 107 moves, 3 of the positions unreachable from the start)\n"
    );
    let epd = cbfs(&["export", book, "--format", "epd"]);
    assert_eq!(text(&epd.stdout).lines().count(), 104);
    let cut = ["export", book, "--format", "tsv", "--export-limit", "5"];
    fails(&cut, 1, &["more than 5 positions", "--export-limit"]);
    let base = ["export", &sample(), "--format", "polyglot"];
    fails(&base, 1, &["sample.cbh", "exported as PGN"]);
}

#[test]
fn bases_in_the_newer_format_are_described_checked_and_exported() {
    let directory = copy_of_base("2cbh/sample");
    let base = directory.path().join("sample.2cbh");
    let path = base.to_str().unwrap();
    let exported = cbfs(&["export", path]);
    let older = cbfs(&["export", fixture("cbh/sample/sample.cbh").to_str().unwrap()]);
    assert!(exported.status.success() && !exported.stdout.is_empty());
    assert_eq!(text(&exported.stdout), text(&older.stdout));
    let info = text(&cbfs(&["info", path]).stdout);
    for part in [
        "5  version of .2cbh",
        "13  games",
        "please report",
        "sample.2lid",
    ] {
        assert!(info.contains(part), "{part} is not in {info}");
    }
    let json: serde_json::Value =
        serde_json::from_slice(&cbfs(&["info", "--json", path]).stdout).unwrap();
    assert_eq!(
        (&json["games"], &json["2cbh_version"]),
        (&13.into(), &5.into())
    );
    let checked = check(&base);
    assert_eq!(checked.status.code(), Some(0));
    assert!(text(&checked.stdout).contains("sample.2cbh: sound (15 records)"));
    fails(
        &["check", "--repair", path],
        2,
        &["sample.2cbh", "read-only"],
    );
    let mut moves = std::fs::read(base.with_extension("2cbg")).unwrap();
    moves[60] ^= 1;
    std::fs::write(base.with_extension("2cbg"), moves).unwrap();
    let checked = check(&base);
    assert_eq!(checked.status.code(), Some(1));
    assert!(text(&checked.stdout).contains("sample.2cbg at 0x1c: the check sum"));
}

#[test]
fn a_file_that_is_no_base_is_named_as_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, part) in [
        ("games.si4", "a database of Scid"),
        ("games.pgn", "`cbfs convert` makes a base of it"),
        ("book.bin", "a Polyglot book, which cbfs does not read"),
    ] {
        std::fs::write(path(name), "").unwrap();
        fails(&["info", &path(name)], 1, &[name, part]);
    }
    fails(&["info", &path("none.cbh")], 1, &["none.cbh: not found"]);
    std::os::unix::fs::symlink("away.cbh", path("link.cbh")).unwrap();
    fails(
        &["info", &path("link.cbh")],
        1,
        &["link.cbh: a link to away.cbh, which is not there"],
    );
    let missing = cbfs(&["umount", &path("none")]);
    assert!(!text(&missing.stderr).contains("os error"));
}

#[test]
fn a_book_is_not_compacted_nor_written_to_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new.cbh");
    let book = fixture("book/kvetka_0.kob");
    let [book, new] = [&book, &new].map(|path| path.to_str().unwrap());
    fails(
        &["compact", book, new],
        1,
        &["an opening book, which is read-only"],
    );
    let script = format!("{CBFS} export --format polyglot {book}");
    let shown = Command::new("script")
        .args(["-q", "-e", "-c", &script, "/dev/null"])
        .output()
        .unwrap();
    assert_eq!(shown.status.code(), Some(1));
    let shown = text(&shown.stdout);
    assert!(shown.contains("write it to a file: --output"), "{shown}");
}

#[test]
fn a_mount_option_that_makes_no_sense_is_a_wrong_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let base = fixture("cbh/sample/sample.cbh");
    let [base, place] = [base.as_path(), folder.path()].map(|path| path.to_str().unwrap());
    let told = ["unknown mount option \"frob\""];
    fails(&["mount", "-o", "frob", base, place], 2, &told);
    fails(&["mount", "-f", "-o", "frob", base, place], 2, &told);
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_so() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    let base = fixture("cbh/sample/sample.cbh");
    let base = base.to_str().unwrap();
    fs::write(at("games.parquet"), "PAR1").unwrap();
    for arguments in [
        &["export", "--format", "parquet", base, "-o", &at("tables")][..],
        &["import", "--create", &at("new.cbh"), &at("games.parquet")],
        &["import", "--create", &at("new.cbh"), &at("")],
    ] {
        let output = cbfs(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("built without Parquet"), "{told}");
    }
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
}
