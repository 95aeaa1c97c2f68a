//! The command: exit codes, messages, and how a mount begins and ends.
//!
//! Whatever mounts runs in a mount namespace of its own: a copy of a mount in
//! another namespace would keep its daemon alive.

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

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use common::{copy_of_base, fixture, has_fuse};

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
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let prelude = "set -e\n\
        gone() { for i in $(seq 300); do \
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
fn help_and_version_are_no_errors_and_nonsense_is_two() {
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
fn what_cannot_be_mounted_is_refused_in_one_line() {
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
        &["mount", "-o", "rw", base, empty],
        1,
        &["cannot write", "-o ro"],
    );
    fails(
        &["mount", "-o", "lang=de", base, empty],
        1,
        &["unknown mount option", "lang"],
    );
    fails(
        &["mount", "-o", "auto_unmount", base, empty],
        1,
        &["allow_other"],
    );
    for kind in ["2cbh", "cbv", "cbf", "txt"] {
        let other = directory.path().join(format!("base.{kind}"));
        std::fs::write(&other, "x").unwrap();
        let mountpoint = directory.path().join("mnt");
        std::fs::create_dir_all(&mountpoint).unwrap();
        let other = other.to_str().unwrap();
        fails(&["mount", other, mountpoint.to_str().unwrap()], 1, &[other]);
        fails(&["info", other], 1, &[other]);
        fails(&["export", other], 1, &[other]);
    }
    fails(&["umount", "/no/such/place"], 1, &["/no/such/place"]);
    fails(&["umount", empty], 1, &["nothing is mounted there"]);
    if Path::new("/proc").exists() {
        fails(&["umount", "/proc"], 1, &["not a mount of cbfs"]);
    }
}

#[test]
fn the_mount_helper_speaks_as_mount_expects() {
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
fn info_tells_the_same_to_people_and_programs() {
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
fn export_is_the_games_one_after_the_other() {
    let Some(printed) = in_sample(
        "$cbfs mount $base $mnt; cat $mnt/games/* > cat.pgn; $cbfs umount $mnt\n\
         $cbfs export $base > out.pgn; $cbfs export $base -o file.pgn\n\
         cmp cat.pgn out.pgn; cmp cat.pgn file.pgn; ls -A | tr '\\n' ' '",
    ) else {
        return;
    };
    assert_eq!(printed, "cache cat.pgn file.pgn mnt out.pgn");
}

#[test]
fn export_replaces_a_file_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out.pgn");
    std::fs::write(&out, "before").unwrap();
    let nowhere = directory.path().join("no/such/out.pgn");
    fails(
        &["export", &sample(), "-o", nowhere.to_str().unwrap()],
        1,
        &["no/such/out.pgn"],
    );
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
fn a_reader_that_goes_away_ends_the_output_quietly() {
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
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(text(&cbfs(&["completions", shell]).stdout).contains("umount"));
    }
    assert!(text(&cbfs(&["man"]).stdout).contains(".TH cbfs 1"));
    let directory = tempfile::tempdir().unwrap();
    assert!(
        cbfs(&["man", directory.path().to_str().unwrap()])
            .status
            .success()
    );
    assert!(directory.path().join("cbfs-mount.1").exists());
}

#[test]
fn mount_returns_when_the_mount_can_be_used() {
    let Some(printed) = in_sample(
        "$cbfs mount $base mnt\n\
         ls mnt/games | head -1; findmnt -no FSTYPE,SOURCE $mnt\n\
         cd mnt/games; test \"$(stat -c %s 000001.pgn)\" = \"$(cat 000001.pgn | wc -c)\"; cd ../..\n\
         $cbfs mount $base mnt 2>&1 || echo $?; $cbfs umount mnt",
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
fn every_way_to_end_a_mount_ends_its_daemon() {
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
            "$cbfs mount $base $mnt; p=$(daemon); test -n \"$p\"; {open}\n\
             {end}; {before}\n{after}\n! findmnt $mnt"
        );
        if in_sample(&script).is_none() {
            return;
        }
    }
}

#[test]
fn in_the_foreground_it_ends_with_zero_and_hup_does_nothing() {
    in_sample(
        "$cbfs mount -f $base mnt & p=$!\n\
         for i in $(seq 200); do test -d mnt/games && break; sleep 0.02; done\n\
         kill -HUP $p; sleep 0.1; ls mnt/games > /dev/null\n\
         kill $p; wait $p; ! findmnt $mnt",
    );
}

#[test]
fn a_dead_daemon_is_told_apart_and_can_be_cleared() {
    let Some(printed) = in_sample(
        "$cbfs mount $base $mnt; kill -9 $(daemon); sleep 0.1\n\
         $cbfs mount $base mnt 2>&1 || true; $cbfs umount mnt; $cbfs mount $base mnt; ls mnt\n\
         $cbfs umount mnt",
    ) else {
        return;
    };
    assert!(
        printed.contains("has died; end it with `cbfs umount"),
        "{printed}"
    );
    assert!(printed.ends_with("deleted\ngames\ntexts"), "{printed}");
}

#[test]
fn systemd_is_told_when_the_mount_can_be_used() {
    let Some(printed) = in_sample(
        "python3 - <<'E'\n\
         import os, socket, subprocess\n\
         s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('notify'); s.settimeout(10)\n\
         env = dict(os.environ, NOTIFY_SOCKET=os.path.abspath('notify'))\n\
         p = subprocess.Popen([env['cbfs'], 'mount', '-f', env['base'], 'mnt'], env=env)\n\
         print(s.recv(100).decode().strip(), sorted(os.listdir('mnt')))\n\
         p.terminate(); print(p.wait())\n\
         E",
    ) else {
        return;
    };
    assert_eq!(printed, "READY=1 ['deleted', 'games', 'texts']\n0");
}

#[test]
fn a_base_cut_short_while_mounted_is_eio_for_what_is_gone() {
    let base = copy_of_base("cbh/sample");
    let Some(printed) = in_namespace(
        &base.path().join("sample.cbh"),
        "$cbfs mount --cache-size 0 $base $mnt; p=$(daemon)\n\
         last=$(ls mnt/games | tail -1); cat mnt/games/000001.pgn > first\n\
         truncate -s 92 $base\n\
         cat mnt/games/$last > /dev/null 2> error && echo readable; cat error\n\
         cmp first mnt/games/000001.pgn && echo same\n\
         kill -0 $p && echo lives; $cbfs umount mnt; gone $p",
    ) else {
        return;
    };
    assert!(printed.contains("Input/output error"), "{printed}");
    assert!(printed.ends_with("same\nlives"), "{printed}");
}
