//! The program with a writable mount of a copy of a base.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A timeout that is long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A base in a folder of its own, and its mount point.
#[derive(Debug)]
pub struct Daemon {
    folder: Option<tempfile::TempDir>,
    base: PathBuf,
    child: Option<Child>,
    /// The defects that the base had initially.
    known: BTreeSet<String>,
}

/// Runs cbfs and waits for it.
pub fn cbfs<A: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cbfs"));
    command.args(arguments).stdin(Stdio::null());
    command.output().unwrap()
}

/// The standard error of a program.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

impl Daemon {
    /// Mounts a copy of the fixture `base`, such as `cbh/sample/sample.cbh`.
    pub fn of_fixture(base: &str) -> Daemon {
        Daemon::of_copy(&super::fixture(base))
    }

    /// Mounts a copy of a base.
    pub fn of_copy(base: &Path) -> Daemon {
        let mut daemon = Daemon::idle(base);
        daemon.start(&["rw"]);
        daemon
    }

    /// A copy of a base, not mounted.
    pub fn idle(base: &Path) -> Daemon {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("base");
        fs::create_dir(&copy).unwrap();
        fs::create_dir(folder.path().join("mount")).unwrap();
        for entry in fs::read_dir(base.parent().unwrap()).unwrap() {
            let file = entry.unwrap().path();
            if file.is_file() && file.file_stem() == base.file_stem() {
                super::copy_bytes(&file, &copy.join(file.file_name().unwrap()));
            }
        }
        let base = copy.join(base.file_name().unwrap());
        Daemon {
            known: defects_of(&base),
            base,
            folder: Some(folder),
            child: None,
        }
    }

    fn folder(&self) -> &Path {
        self.folder.as_ref().unwrap().path()
    }

    /// The `.cbh` of the base.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Replaces the path of the base.
    pub fn set_base(&mut self, base: PathBuf) {
        self.base = base;
    }

    /// The folder of drafts that could not be saved.
    pub fn state(&self) -> PathBuf {
        self.folder().join("state")
    }

    /// A path in the mount; an empty one is the root.
    pub fn at(&self, path: &str) -> PathBuf {
        self.folder().join("mount").join(path)
    }

    /// The file of a game.
    pub fn game(&self, number: u32) -> PathBuf {
        self.at(&format!("games/{number:06}.pgn"))
    }

    /// The text of a game.
    pub fn text(&self, number: u32) -> String {
        fs::read_to_string(self.game(number)).unwrap()
    }

    /// The command that mounts it.
    pub fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cbfs"));
        command
            .args(["mount", "-f", "-o", &options.join(",")])
            .arg(&self.base)
            .arg(self.at(""))
            .env("XDG_STATE_HOME", self.state())
            .env("XDG_CACHE_HOME", self.folder().join("cache"))
            .stdin(Stdio::null());
        command
    }

    /// Mounts; returns when the mount is ready.
    pub fn start(&mut self, options: &[&str]) {
        assert!(self.child.is_none(), "it is mounted already");
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder().join("log"))
            .unwrap();
        let mut child = self.command(options).stderr(log).spawn().unwrap();
        let start = Instant::now();
        while !self.is_mounted() {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("the daemon ended with {status}: {}", self.log());
            }
            assert!(start.elapsed() < PATIENCE, "it does not mount");
            thread::sleep(Duration::from_millis(2));
        }
        self.child = Some(child);
    }

    /// The log of the daemons.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder().join("log")).unwrap_or_default()
    }

    fn is_mounted(&self) -> bool {
        let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev());
        match (device(&self.at("")), device(self.folder())) {
            (Ok(mount), Ok(folder)) => mount != folder,
            // A dead mount is one.
            _ => true,
        }
    }

    /// Process number of the daemon.
    pub fn process(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// Unmounts; returns when the daemon has ended.
    pub fn end(&mut self) {
        let output = cbfs(["umount".into(), self.at("")]);
        assert!(output.status.success(), "{}", stderr(&output));
        self.wait();
        self.assert_no_worse();
    }

    /// Detaches the mount as umount(8) does, without waiting for the daemon.
    pub fn detach(&mut self) {
        let mut child = self.child.take().unwrap();
        // It is waited for by nobody but the system.
        thread::spawn(move || child.wait());
        let output = Command::new("umount").arg(self.at("")).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }

    /// Ends the daemon with a signal.
    pub fn terminate(&mut self) {
        self.signal(Signal::SIGTERM);
        self.wait();
        self.assert_no_worse();
    }

    /// Checks that the base has no new defects.
    fn assert_no_worse(&self) {
        let new: Vec<_> = defects_of(&self.base)
            .into_iter()
            .filter(|defect| !self.known.contains(defect))
            .collect();
        assert!(new.is_empty(), "{new:#?}");
    }

    /// Kills the daemon, and removes what is left of the mount.
    pub fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        self.wait();
        let output = Command::new("umount")
            .arg("-l")
            .arg(self.at(""))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }

    fn signal(&self, signal: Signal) {
        let process = i32::try_from(self.process()).unwrap();
        kill(Pid::from_raw(process), signal).unwrap();
    }

    /// Waits for the daemon, which something else ends.
    pub fn wait(&mut self) {
        let mut child = self.child.take().unwrap();
        let start = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE, "the daemon does not end");
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Mounts again.
    pub fn restart(&mut self) {
        self.end();
        self.start(&["rw"]);
    }

    /// Checks that the base, which must not be mounted, is sound.
    pub fn assert_sound(&self) {
        let output = cbfs(["check".into(), self.base.clone()]);
        let found = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{found}{}", stderr(&output));
    }

    /// The content of the files of the base.
    pub fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let folder = self.base.parent().unwrap();
        let entries = fs::read_dir(folder).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = paths
            .filter(|path| path.is_file())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = cbfs([
                "umount".into(),
                self.folder.as_ref().unwrap().path().join("mount"),
            ]);
            let start = Instant::now();
            while matches!(child.try_wait(), Ok(None)) && start.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(2));
            }
            let _ = child.kill();
        }
        // To clear the folder away through a mount would delete its games.
        if self.is_mounted() {
            std::mem::forget(self.folder.take());
        }
    }
}

/// The defects that `cbfs check` reports, without offsets and numbers of wrong
/// counts.
fn defects_of(base: &Path) -> BTreeSet<String> {
    let output = cbfs(["check".as_ref(), base.as_os_str()]);
    let is_checked = matches!(output.status.code(), Some(0 | 1));
    assert!(is_checked, "{}", stderr(&output));
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    let defects = found.lines().filter_map(|line| {
        let (_, what) = line.split_once(" at 0x")?.1.split_once(": ")?;
        Some(what.split(" counts ").next()?.to_owned())
    });
    defects.collect()
}

/// The text of a game with another tag at its top.
pub fn with_tag(text: &str, name: &str, value: &str) -> String {
    let others = text
        .lines()
        .filter(|line| !line.starts_with(&format!("[{name} ")));
    let lines: Vec<&str> = others.collect();
    format!("[{name} \"{value}\"]\n{}\n", lines.join("\n"))
}

/// The errno of an error, if any.
pub fn errno<T>(result: io::Result<T>) -> Option<i32> {
    result.err().and_then(|error| error.raw_os_error())
}

/// Closes a file and returns the error of the filesystem.
pub fn close(file: fs::File) -> io::Result<()> {
    use std::os::fd::IntoRawFd;
    Ok(nix::unistd::close(file.into_raw_fd())?)
}

/// Writes a file as most programs do, and returns the result of closing it.
pub fn save(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    let mut file = fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    close(file)
}
