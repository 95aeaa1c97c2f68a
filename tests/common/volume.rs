//! A volume for tests, with all kinds of failures.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime};

use cbfs::vfs::{
    Completeness, DirEntry, Error, Ino, Listing, Node, NodeKind, Size, Volume, VolumeSize,
    format_game, parse_game,
};

pub const GAMES: Ino = Ino(2);
pub const LAST: u32 = 300;
/// A number without a game.
pub const GAP: u32 = 7;
/// A game that cannot be read.
pub const DAMAGED: u32 = 11;
/// A game whose reading panics.
pub const PANICS: u32 = 13;
/// A game longer than a page, and than a read of the kernel.
pub const LONG: u32 = 17;
/// An empty game.
pub const EMPTY: u32 = 19;
/// Games whose readers block until all four have arrived.
pub const TOGETHER: [u32; 4] = [21, 22, 23, 24];

/// The text of a game.
pub fn text_of(id: u32) -> Vec<u8> {
    let bytes = match id {
        LONG => 300_000,
        EMPTY => 0,
        _ => 500 + id as usize * 37 % 9000,
    };
    let line = format!("{id}. e4 e5 2. Nf3 Nc6 3. Bb5\n");
    line.bytes().cycle().take(bytes).collect()
}

/// State shared by the test and the volume.
#[derive(Debug, Default)]
pub struct Shared {
    /// Number of texts rendered.
    pub renderings: AtomicU32,
    /// Number of times that edits were prepared, and nothing rendered yet.
    pub prepared: AtomicU32,
    /// Whether all reads fail from now on.
    pub is_gone: AtomicBool,
    arrived: Mutex<u32>,
    all_arrived: Condvar,
}

#[derive(Debug, Default)]
pub struct TestVolume(pub Arc<Shared>);

fn time() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

fn directory(ino: Ino) -> Node {
    Node {
        ino,
        kind: NodeKind::Directory,
        links: if ino == Ino::ROOT { 3 } else { 2 },
        modified: time(),
    }
}

fn game(id: u32) -> Option<Node> {
    (1..=LAST).contains(&id).then_some(())?;
    (id != GAP).then_some(Node {
        ino: Ino::new(1, id),
        kind: NodeKind::File(Size::Rendered),
        links: 1,
        modified: time() + Duration::from_secs(u64::from(id)),
    })
}

impl Volume for TestVolume {
    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Node, Error> {
        match dir {
            Ino::ROOT if name == b"games" => Ok(directory(GAMES)),
            Ino::ROOT => Err(Error::NotFound),
            GAMES => parse_game(name).and_then(game).ok_or(Error::NotFound),
            _ => Err(Error::NotADirectory),
        }
    }

    fn node(&self, ino: Ino) -> Result<Node, Error> {
        match ino {
            Ino::ROOT | GAMES => Ok(directory(ino)),
            _ if ino.kind() == 1 => game(ino.index()).ok_or(Error::NotFound),
            _ => Err(Error::NotFound),
        }
    }

    fn parent(&self, _: Ino) -> Result<Ino, Error> {
        Ok(Ino::ROOT)
    }

    fn list(&self, dir: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        match dir {
            Ino::ROOT => {
                let entry = DirEntry {
                    name: "games",
                    node: directory(GAMES),
                    cookie: 3,
                };
                let _ = after < 3 && listing(&entry);
                Ok(())
            }
            GAMES => {
                let mut name = String::new();
                let first = u32::try_from(after.saturating_sub(2)).unwrap() + 1;
                for node in (first..=LAST).filter_map(game) {
                    let id = node.ino.index();
                    format_game(id, &mut name);
                    let entry = DirEntry {
                        name: &name,
                        node,
                        cookie: u64::from(id) + 2,
                    };
                    if !listing(&entry) {
                        break;
                    }
                }
                Ok(())
            }
            _ => Err(Error::NotADirectory),
        }
    }

    fn prepare_edits(&self, goes_on: &mut dyn FnMut() -> bool) -> Result<(), Error> {
        let is_first = goes_on() && self.0.renderings.load(Relaxed) == 0;
        self.0.prepared.fetch_add(is_first.into(), Relaxed);
        Ok(())
    }

    fn render(&self, ino: Ino, text: &mut Vec<u8>) -> Result<Completeness, Error> {
        let node = self.node(ino)?;
        let id = node.ino.index();
        self.0.renderings.fetch_add(1, Relaxed);
        if id == DAMAGED || self.0.is_gone.load(Relaxed) {
            return Err(Error::Damaged(format!(
                "test.cbg at 0x1a: game {id} ends early"
            )));
        }
        assert_ne!(id, PANICS, "on purpose");
        if TOGETHER.contains(&id) {
            let thread = std::thread::current();
            if matches!(thread.name(), Some("fill" | "read-ahead")) {
                // Only requests count.
                return Err(Error::NotFound);
            }
            self.wait_for_others();
        }
        text.extend(text_of(id));
        Ok(Completeness::Whole)
    }

    fn statistics(&self) -> VolumeSize {
        VolumeSize {
            bytes: 123_456,
            files: u64::from(LAST) - 1,
        }
    }

    fn rendered(&self) -> (Ino, Ino) {
        (Ino::new(1, 1), Ino::new(1, LAST))
    }
}

impl TestVolume {
    /// Blocks until this was called four times, or until a timeout.
    fn wait_for_others(&self) {
        let mut arrived = self.0.arrived.lock().unwrap();
        *arrived += 1;
        self.0.all_arrived.notify_all();
        let (arrived, waited) = self
            .0
            .all_arrived
            .wait_timeout_while(arrived, Duration::from_secs(5), |arrived| *arrived < 4)
            .unwrap();
        drop(arrived);
        assert!(!waited.timed_out(), "the others wait for this one");
    }
}
