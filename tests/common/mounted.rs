//! A mount within the test process, and a volume that changes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use cbfs::cbh::Options as Reading;
use cbfs::fuse::{self, Audience, Mounted, Outcome, ReadDirPlus, Stopper};
use cbfs::vfs::{
    Completeness, DatabaseSource, DirEntry, Error, Ino, Listing, Node, NodeKind, Options, Size,
    Source, Vfs, Volume, VolumeSize,
};

/// Time within which an expected change must be visible.
pub const SOON: Duration = Duration::from_secs(2);

/// A mount, ended when dropped.
pub struct Mount {
    directory: tempfile::TempDir,
    stopper: Stopper,
    running: Option<JoinHandle<Outcome>>,
}

impl Mount {
    pub fn new(vfs: Vfs) -> Mount {
        Mount::listed(vfs, ReadDirPlus::BySize)
    }

    pub fn listed(vfs: Vfs, readdirplus: ReadDirPlus) -> Mount {
        let directory = tempfile::tempdir().unwrap();
        let options = fuse::Options {
            xattr: false,
            source: "test".to_owned(),
            access: Audience::Owner,
            is_writable: false,
            uid: 0,
            gid: 0,
            readdirplus,
            auto_unmount: false,
            flags: Vec::new(),
            others: Vec::new(),
        };
        let mounted = Mounted::new(Arc::new(vfs), directory.path(), &options).unwrap();
        Mount {
            stopper: mounted.stopper(),
            running: Some(thread::spawn(move || mounted.run())),
            directory,
        }
    }

    /// The base that `path` belongs to.
    pub fn of_base(path: &Path) -> Mount {
        Mount::new(open(path))
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    /// Runs a shell script in the mount; returns its output.
    pub fn shell(&self, script: &str) -> String {
        let output = Command::new("sh")
            .args(["-c", script])
            .current_dir(self.directory.path())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        format!("{}{errors}", String::from_utf8_lossy(&output.stdout))
            .trim()
            .to_owned()
    }

    /// Waits until the script prints the expected output.
    pub fn soon_prints(&self, script: &str, expected: &str) {
        let start = Instant::now();
        loop {
            let printed = self.shell(script);
            if printed == expected {
                return;
            }
            assert!(start.elapsed() < SOON, "{script}: {printed}");
            thread::sleep(Duration::from_millis(50));
        }
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

/// A base as `cbfs mount` shows it.
pub fn open(path: &Path) -> Vfs {
    let source = DatabaseSource::new(path, Reading::default(), None);
    Vfs::open(Box::new(source), &Options::default()).unwrap()
}

/// A directory `games` with files 1 to 9. Each line of a text contains its
/// version: the current one for odd numbers, always 1 for others. The last file
/// exists only in odd versions.
#[derive(Clone, Debug)]
pub struct Changing {
    pub version: Arc<AtomicU64>,
    /// Whether open texts change too, as those of files written in place.
    pub in_place: bool,
    /// What renders a file goes through it.
    pub gate: Arc<Gate>,
}

/// Holds up who renders one of the files.
#[derive(Debug, Default)]
pub struct Gate {
    /// The file, and whether somebody waits.
    shut: Mutex<(Option<u32>, bool)>,
    moved: Condvar,
}

impl Gate {
    pub fn shut(&self, file: Option<u32>) {
        *self.shut.lock().unwrap() = (file, false);
        self.moved.notify_all();
    }

    /// Waits until somebody is held up; false if that takes too long.
    pub fn holds_one_soon(&self) -> bool {
        let shut = self.shut.lock().unwrap();
        let is_passed = |shut: &mut (Option<u32>, bool)| !shut.1;
        let waited = self.moved.wait_timeout_while(shut, 10 * SOON, is_passed);
        !waited.unwrap().1.timed_out()
    }

    fn pass(&self, file: u32) {
        let mut shut = self.shut.lock().unwrap();
        while shut.0 == Some(file) {
            shut.1 = true;
            self.moved.notify_all();
            shut = self.moved.wait(shut).unwrap();
        }
    }
}

/// Longer than a read of the kernel.
pub const LONG: u32 = 7;

impl Changing {
    pub fn new(in_place: bool) -> Changing {
        Changing {
            version: Arc::new(AtomicU64::new(1)),
            in_place,
            gate: Arc::default(),
        }
    }

    pub fn vfs(&self) -> Vfs {
        Vfs::open(Box::new(self.clone()), &Options::default()).unwrap()
    }

    pub fn change(&self) -> u64 {
        self.version.fetch_add(1, SeqCst) + 1
    }
}

/// The text of a file.
pub fn text(id: u32, version: u64) -> String {
    let version = if id % 2 == 1 { version } else { 1 };
    let lines = if id == LONG { 40_000 } else { 20 };
    // Neither of the same length.
    format!("version {version}\n").repeat(lines + usize::try_from(version % 3).unwrap())
}

impl Source for Changing {
    fn open(&self) -> Result<Box<dyn Volume>, String> {
        let version = self.version.load(SeqCst);
        Ok(Box::new(State {
            version,
            live: self.in_place.then(|| Arc::clone(&self.version)),
            gate: Arc::clone(&self.gate),
        }))
    }

    fn state(&self) -> String {
        self.version.load(SeqCst).to_string()
    }

    fn modified(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn guess(&self) -> u64 {
        9
    }
}

#[derive(Debug)]
struct State {
    version: u64,
    live: Option<Arc<AtomicU64>>,
    gate: Arc<Gate>,
}

const GAMES: Ino = Ino(2);

impl State {
    fn version(&self) -> u64 {
        self.live
            .as_ref()
            .map_or(self.version, |live| live.load(SeqCst))
    }

    fn last(&self) -> u32 {
        if self.version() % 2 == 1 { 9 } else { 8 }
    }
}

impl Volume for State {
    fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        match directory {
            Ino::ROOT if name == b"games" => self.node(GAMES),
            GAMES => {
                let name = std::str::from_utf8(name).map_err(|_| Error::NotFound)?;
                let id = name.parse().map_err(|_| Error::NotFound)?;
                self.node(Ino::new(1, id))
            }
            _ => Err(Error::NotFound),
        }
    }

    fn node(&self, ino: Ino) -> Result<Node, Error> {
        let kind = match (ino.kind(), ino.index()) {
            (0, 1 | 2) => NodeKind::Directory,
            (1, id) if (1..=self.last()).contains(&id) => NodeKind::File(Size::Rendered),
            _ => return Err(Error::NotFound),
        };
        Ok(Node {
            ino,
            kind,
            links: 1,
            // Nothing can be told from the time.
            modified: SystemTime::UNIX_EPOCH,
        })
    }

    fn parent(&self, _: Ino) -> Result<Ino, Error> {
        Ok(Ino::ROOT)
    }

    fn list(&self, directory: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        let numbers = match directory {
            Ino::ROOT => vec![("games".to_owned(), GAMES)],
            _ => (1..=self.last())
                .map(|id| (id.to_string(), Ino::new(1, id)))
                .collect(),
        };
        for ((name, ino), cookie) in numbers.iter().zip(3..) {
            let node = self.node(*ino)?;
            if cookie > after && !listing(&DirEntry { name, node, cookie }) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn render(&self, ino: Ino, out: &mut Vec<u8>) -> Result<Completeness, Error> {
        self.node(ino)?;
        self.gate.pass(ino.index());
        out.extend(text(ino.index(), self.version()).bytes());
        Ok(Completeness::Whole)
    }

    fn statistics(&self) -> VolumeSize {
        VolumeSize::default()
    }

    fn rendered(&self) -> (Ino, Ino) {
        (Ino::new(1, 1), Ino::new(1, self.last()))
    }
}
