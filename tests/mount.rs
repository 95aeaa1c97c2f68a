//! The behaviour of a real mount, including what only a kernel shows.

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

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use cbfs::cbh::{Database, Options as DatabaseOptions};
use cbfs::fuse::{self, Audience, Mounted, Outcome, ReadDirPlus, Stopper, mount_at};
use cbfs::vfs::{DatabaseVolume, Options, Vfs, Volume};
use common::behaviours::{BEHAVIOURS, path};
use common::groups::{self, GROUP_BEHAVIOURS};
use common::texts::TEXT_BEHAVIOURS;
use common::trees::OnDisk;
use common::volume::{LAST, LONG, Shared, TestVolume, text_of};
use nix::dir::Dir;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;

/// A mount in this process, ended when dropped.
struct Mount {
    directory: tempfile::TempDir,
    stopper: Stopper,
    running: Option<JoinHandle<Outcome>>,
    shared: Arc<Shared>,
}

/// How a test mounts.
fn options(readdirplus: ReadDirPlus, source: &str) -> fuse::Options {
    fuse::Options {
        source: source.to_owned(),
        access: Audience::Owner,
        is_writable: false,
        uid: 1234,
        gid: 4321,
        readdirplus,
        xattr: false,
        auto_unmount: false,
        flags: Vec::new(),
        others: Vec::new(),
    }
}

impl Mount {
    fn new(readdirplus: ReadDirPlus, source: &str) -> Mount {
        let volume = TestVolume::default();
        let shared = Arc::clone(&volume.0);
        Mount::of(Box::new(volume), shared, readdirplus, source)
    }

    fn of(
        volume: Box<dyn Volume>,
        shared: Arc<Shared>,
        readdirplus: ReadDirPlus,
        source: &str,
    ) -> Mount {
        let vfs = Arc::new(Vfs::new(volume, &Options::default()));
        let directory = tempfile::tempdir().unwrap();
        let options = options(readdirplus, source);
        let mounted = Mounted::new(vfs, directory.path(), &options).unwrap();
        Mount {
            stopper: mounted.stopper(),
            running: Some(thread::spawn(move || mounted.run())),
            directory,
            shared,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Waits for the end of serving.
    fn end(mut self) -> Outcome {
        let running = self.running.take().unwrap();
        let start = Instant::now();
        while !running.is_finished() {
            assert!(start.elapsed() < Duration::from_secs(10), "it does not end");
            thread::sleep(Duration::from_millis(5));
        }
        running.join().unwrap()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(running) = self.running.take() {
            let _ = running.join();
        }
    }
}

impl OnDisk for Mount {
    fn place(&self, path: &str) -> PathBuf {
        self.path(path)
    }

    fn examine(&self, metadata: &Metadata) {
        assert_eq!((metadata.uid(), metadata.gid()), (1234, 4321));
        if metadata.is_file() {
            assert_eq!(metadata.blocks(), metadata.size().div_ceil(512));
        }
        assert_eq!(metadata.blksize(), 4096);
    }
}

#[test]
fn a_mount_behaves_with_and_without_readdirplus() {
    if !common::has_fuse() {
        return;
    }
    for readdirplus in [ReadDirPlus::On, ReadDirPlus::Auto, ReadDirPlus::Off] {
        let mount = Mount::new(readdirplus, "test");
        for (name, behaviour) in BEHAVIOURS {
            println!("{readdirplus:?}: {name}");
            behaviour(&mount);
        }
    }
}

#[test]
fn texts_are_shown_with_and_without_readdirplus() {
    if !common::has_fuse() {
        return;
    }
    for readdirplus in [ReadDirPlus::On, ReadDirPlus::Off] {
        let volume = Box::new(common::texts::volume());
        let mount = Mount::of(volume, Arc::default(), readdirplus, "texts");
        for (name, behaviour) in TEXT_BEHAVIOURS {
            println!("{readdirplus:?}: {name}");
            behaviour(&mount);
        }
    }
}

#[test]
fn groups_are_shown_with_and_without_readdirplus() {
    if !common::has_fuse() {
        return;
    }
    for readdirplus in [ReadDirPlus::On, ReadDirPlus::Auto, ReadDirPlus::Off] {
        let volume = Box::new(groups::volume());
        let mount = Mount::of(volume, Arc::default(), readdirplus, "namesakes");
        for (name, behaviour) in GROUP_BEHAVIOURS {
            println!("{readdirplus:?}: {name}");
            behaviour(&mount);
        }
    }
}

#[test]
fn tools_read_all_games_of_a_base() {
    if !common::has_fuse() {
        return;
    }
    let sample = common::fixture("cbh/sample/sample.cbh");
    let week = common::shared().map(|shared| shared.join("bases/twic1134/twic1134.cbh"));
    for base in [Some(sample), week].into_iter().flatten() {
        for script in [
            "cat games/*.pgn | cmp - pgn/all.pgn",
            "test $(stat -c %s pgn/all.pgn) = $(cat pgn/all.pgn | wc -c)",
            "test $(wc -c < pgn/all.pgn) = $(cat games/*.pgn | wc -c)",
            "tail -c 100000 pgn/all.pgn > $d/a; cat games/*.pgn | tail -c 100000 | cmp - $d/a",
            "dd if=pgn/all.pgn bs=1000 skip=7 count=3 of=$d/a 2>/dev/null; \
             cat games/*.pgn | tail -c +7001 | head -c 3000 | cmp - $d/a",
            "for i in 0 1 2 3; do dd if=pgn/all.pgn bs=512k skip=$((3 * i)) count=3 of=$d/$i 2>/dev/null & done; \
             wait; cat games/*.pgn | head -c 6291456 > $d/a; cat $d/0 $d/1 $d/2 $d/3 | cmp - $d/a",
            "cp pgn/all.pgn $d/a; cmp pgn/all.pgn $d/a",
        ] {
            // A fresh mount each, so that nothing is known of the file.
            let database = Database::open(&base, &DatabaseOptions::default()).unwrap();
            let volume = Box::new(DatabaseVolume::new(database, ""));
            let mount = Mount::of(volume, Arc::default(), ReadDirPlus::BySize, "base");
            let script = format!("d=$(mktemp -d); {{ {script}; }} && echo same; rm -r $d");
            prints(&mount, &script, "same");
        }
    }
}

#[test]
fn tools_see_one_file_under_many_names() {
    if !common::has_fuse() {
        return;
    }
    // A copy has no hard links to the mount, so that `diff` reads both.
    let copied = "diff -r --no-dereference -x .cbfs . \"$d\" && echo same; chmod -R u+w \"$d\"; rm -r \"$d\"";
    let everywhere = "./annotators/Anna/000003.pgn ./eco/none/000003.pgn ./games/000003.pgn \
                      ./players/Lee ~0 ~3/000003.pgn ./players/Lee/000003.pgn \
                      ./sources/Paper/000003.pgn ./teams/Club/000003.pgn \
                      ./tournaments/Open (Paris) 2001/000003.pgn ./years/1999/000003.pgn";
    let sorted = "LC_ALL=C sort | tr '\\n' ' '";
    for (script, expected) in [
        (
            format!("find . -samefile games/000003.pgn | {sorted}"),
            everywhere,
        ),
        (
            format!("find . -inum $(stat -c %i years/1999/000003.pgn) | {sorted}"),
            everywhere,
        ),
        ("find . -type f -links 9 -path '*/games/*' | wc -l".to_owned(), "2"),
        ("find . -type d | wc -l".to_owned(), "64"),
        ("[ \"$(find eco -noleaf)\" = \"$(find eco)\" ] && echo same".to_owned(), "same"),
        (
            format!("d=$(mktemp -d); cp -r . \"$d\"; {copied}"),
            "same",
        ),
        (
            "d=$(mktemp -d); cp -r players/Lee \"$d\"; ls \"$d/Lee\" | wc -l; rm -rf \"$d\"".to_owned(),
            "5",
        ),
        (
            format!("d=$(mktemp -d); tar cf - . | tar xf - -C \"$d\"; {copied}"),
            "same",
        ),
        // Each game is in the archive once, and otherwise a link to it.
        (
            "tar cf - --exclude=./pgn . | tar tvf - | grep -c '^-.*pgn$'".to_owned(),
            "10",
        ),
        (
            format!("command -v rsync >/dev/null || {{ echo same; exit; }}; d=$(mktemp -d); rsync -a ./ \"$d\"; {copied}"),
            "same",
        ),
        ("grep -rl 'White \"Lee\"' players/Lee | wc -l".to_owned(), "3"),
        (
            "[ \"$(LC_ALL=C ls players | LC_ALL=C sort)\" = \"$(LC_ALL=C.UTF-8 ls players | LC_ALL=C sort)\" ] && echo same"
                .to_owned(),
            "same",
        ),
        ("ls -id years/1999/.. years | cut -d' ' -f1 | uniq | wc -l".to_owned(), "1"),
    ] {
        // A fresh mount each, so that nothing was looked at before.
        let volume = Box::new(groups::volume());
        let mount = Mount::of(volume, Arc::default(), ReadDirPlus::BySize, "namesakes");
        prints(&mount, &script, expected);
    }
}

/// `script` is run by a shell in the mount's root and must print `expected`.
fn prints(mount: &Mount, script: &str, expected: &str) {
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(mount.directory.path())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(printed.trim(), expected, "{script}: {errors}");
}

#[test]
fn tools_agree_about_sizes_before_the_first_read() {
    if !common::has_fuse() {
        return;
    }
    let long = text_of(LONG).len();
    let tail: String = String::from_utf8(text_of(31).split_off(text_of(31).len() - 9)).unwrap();
    // A fresh mount each, so that nothing is known of the file.
    for (script, expected) in [
        ("wc -c < games/000017.pgn", long.to_string()),
        ("stat -c %s games/000017.pgn", long.to_string()),
        (
            "tar cf - games/000017.pgn | tar xOf - | wc -c",
            long.to_string(),
        ),
        ("tail -c 9 games/000031.pgn", tail.trim().to_owned()),
        (
            "dd if=games/000017.pgn bs=1000 skip=299 2>/dev/null | wc -c",
            "1000".to_owned(),
        ),
        (
            "python3 -c \"import mmap; f = open('games/000017.pgn', 'rb'); \
             m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); print(len(m), m[-1] != 0)\"",
            format!("{long} True"),
        ),
        (
            "cp games/000017.pgn /dev/stdout | cmp - games/000017.pgn && echo same",
            "same".to_owned(),
        ),
        (
            "du --apparent-size -b games/000017.pgn | cut -f1",
            long.to_string(),
        ),
    ] {
        let mount = Mount::new(ReadDirPlus::BySize, "test");
        prints(&mount, script, &expected);
    }
}

#[test]
fn a_listing_can_be_interrupted_and_continued() {
    if !common::has_fuse() {
        return;
    }
    let mount = Mount::new(ReadDirPlus::Off, "test");
    let games = mount.path("games");
    // Two listings of one directory in turns, each with its own place.
    let open = || Dir::open(&games, OFlag::O_RDONLY, Mode::empty()).unwrap();
    let (mut one, mut two) = (open(), open());
    let (first, mut second) = (one.iter(), two.iter());
    let mut names = 0;
    for entry in first {
        let name = entry.unwrap().file_name().to_owned();
        assert_eq!(second.next().unwrap().unwrap().file_name(), name.as_c_str());
        names += 1;
    }
    assert!(second.next().is_none());
    assert_eq!(names, 2 + LAST - 1);
    // Rewound, and with the smallest buffers there are, from any place.
    prints(
        &mount,
        "python3 - <<'E'\n\
         import ctypes, os\n\
         libc = ctypes.CDLL(None, use_errno=True)\n\
         fd = os.open('games', os.O_RDONLY | os.O_DIRECTORY)\n\
         buffer = ctypes.create_string_buffer(40)\n\
         def step():\n\
        \x20   n = libc.syscall(217, fd, buffer, 40)\n\
        \x20   assert n >= 0, ctypes.get_errno()\n\
        \x20   raw = buffer.raw[:n]\n\
        \x20   return (int.from_bytes(raw[8:16], 'little'), raw[19:].split(b'\\0')[0]) if n else None\n\
         seen = []\n\
         while (entry := step()): seen.append(entry)\n\
         for place in (0, 1, 57, 200, len(seen) - 2):\n\
        \x20   os.lseek(fd, seen[place][0], os.SEEK_SET)\n\
        \x20   assert step() == seen[place + 1], place\n\
         print(len(seen), len(set(seen)))\n\
         E",
        &format!("{names} {names}"),
    );
}

#[test]
fn writing_is_refused_as_on_any_read_only_file_system() {
    if !common::has_fuse() {
        return;
    }
    let mount = Mount::new(ReadDirPlus::BySize, "test");
    let one = mount.path(&path(1));
    let is_refused = |result: io::Result<()>| {
        assert_eq!(result.unwrap_err().raw_os_error(), Some(libc::EROFS));
    };
    is_refused(File::options().append(true).open(&one).map(drop));
    is_refused(fs::write(&one, "x"));
    is_refused(fs::write(mount.path("games/new.pgn"), "x"));
    is_refused(fs::remove_file(&one));
    is_refused(fs::rename(&one, mount.path("games/x")));
    is_refused(fs::create_dir(mount.path("x")));
    is_refused(fs::hard_link(&one, mount.path("x")));
    is_refused(std::os::unix::fs::symlink("x", mount.path("x")));
    assert_eq!(fs::read(&one).unwrap(), text_of(1));
}

#[test]
fn findmnt_shows_type_and_source_even_with_a_comma() {
    if !common::has_fuse() {
        return;
    }
    let source = r"/my, base,rw\x.cbh";
    let mount = Mount::new(ReadDirPlus::BySize, source);
    let shown = mount_at(&mount.directory.path().canonicalize().unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(shown.kind, "fuse.cbfs");
    assert_eq!(shown.source.to_str(), Some(source));
}

#[test]
fn a_connection_that_was_mounted_and_handed_over_is_served() {
    if !common::has_fuse() || !nix::unistd::geteuid().is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let device = File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .unwrap();
    let descriptor = device.as_raw_fd();
    let data = format!("fd={descriptor},rootmode=40000,user_id=0,group_id=0,default_permissions");
    let mount_it = || {
        let (source, kind) = (Some("base"), Some("fuse.cbfs"));
        let data = Some(data.as_str());
        nix::mount::mount(
            source,
            directory.path(),
            kind,
            nix::mount::MsFlags::MS_RDONLY,
            data,
        )
    };
    let serve = || {
        let vfs = Arc::new(Vfs::new(Box::<TestVolume>::default(), &Options::default()));
        let place = PathBuf::from(format!("/dev/fd/{descriptor}"));
        Mounted::new(vfs, &place, &options(ReadDirPlus::BySize, "base"))
    };
    let error = serve().unwrap_err();
    assert!(error.to_string().contains("no mount is served"), "{error}");
    mount_it().unwrap();
    let mounted = serve().unwrap();
    let running = thread::spawn(|| mounted.run());
    let text = fs::read(directory.path().join("games").join("000001.pgn")).unwrap();
    assert_eq!(text, text_of(1));
    nix::mount::umount(directory.path()).unwrap();
    assert_eq!(running.join().unwrap(), Outcome::Unmounted);
}

#[test]
fn cached_content_is_not_requested_again() {
    if !common::has_fuse() {
        return;
    }
    let mount = Mount::new(ReadDirPlus::BySize, "test");
    assert_eq!(fs::read(mount.path(&path(40))).unwrap(), text_of(40));
    mount.shared.is_gone.store(true, Relaxed);
    assert_eq!(fs::read(mount.path(&path(40))).unwrap(), text_of(40));
}

#[test]
fn a_mount_ends_while_in_use() {
    if !common::has_fuse() {
        return;
    }
    let mount = Mount::new(ReadDirPlus::BySize, "test");
    let open = File::open(mount.path(&path(1))).unwrap();
    let place = mount.directory.path().canonicalize().unwrap();
    mount.stopper.stop();
    assert_eq!(mount.end(), Outcome::Unmounted);
    assert_eq!(mount_at(&place).unwrap(), None);
    drop(open);
}

#[test]
fn an_external_unmount_removes_no_other_mount() {
    if !common::has_fuse() {
        return;
    }
    let below = Mount::new(ReadDirPlus::BySize, "below");
    let place = below.directory.path().canonicalize().unwrap();
    fuse::detach(&place).unwrap();
    // Something else sits there by the time the end is noticed.
    let other = Command::new("mount")
        .args(["-t", "tmpfs", "other"])
        .arg(&place)
        .status()
        .unwrap();
    if !other.success() {
        eprintln!("*** NOT TESTED: tmpfs cannot be mounted here ***");
        return;
    }
    below.stopper.stop();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(mount_at(&place).unwrap().unwrap().kind, "tmpfs");
    assert!(
        Command::new("umount")
            .arg(&place)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(below.end(), Outcome::Unmounted);
}
