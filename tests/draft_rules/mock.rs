//! A volume of texts with a simple grammar, and a mount of it.
//!
//! A game is a text that ends in its only `*`; it is shown without blanks
//! around it. Players are letters: `X` plays in each game that contains an `X`.

use std::collections::BTreeSet;

use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use cbfs::vfs::Input;
use cbfs::vfs::{Access, Attr, Completeness, Error, Handle, Ino, Options, RenameMode, Vfs};
use cbfs::vfs::{ChangedTexts, Editor, Refusal, Role, Saved};
use cbfs::vfs::{DirEntry, Listing, Node, NodeKind, Size, Volume, VolumeSize};
use cbfs::vfs::{format_game, parse_game};

pub(crate) const GAMES: Ino = Ino(2);
pub(crate) const DELETED: Ino = Ino(3);
pub(crate) const PLAYER: Ino = Ino(4);
pub(crate) const IMPORT: Ino = Ino(5);
const DIRECTORIES: [(&str, Ino); 4] = [
    ("games", GAMES),
    ("deleted", DELETED),
    ("X", PLAYER),
    ("import", IMPORT),
];

pub(crate) fn game(number: u32) -> Ino {
    Ino::new(1, number)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Game {
    pub(crate) text: String,
    pub(crate) is_deleted: bool,
}

/// The stored texts, current and former.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) games: Vec<Game>,
    pub(crate) saves: u32,
    pub(crate) syncs: u32,
    /// Whether the storage fails.
    pub(crate) is_full: bool,
    pub(crate) is_sync_failing: bool,
    /// The channels by which the next import reports its begin, and waits.
    pub(crate) pause: Option<(Sender<()>, Receiver<()>)>,
}

#[derive(Debug)]
struct Texts {
    games: Vec<Game>,
    stored: Arc<Mutex<Stored>>,
}

impl Texts {
    fn get(&self, ino: Ino) -> Result<&Game, Error> {
        let place = usize::try_from(ino.index()).unwrap().checked_sub(1);
        let found = place.and_then(|place| self.games.get(place));
        found.filter(|_| ino.kind() == 1).ok_or(Error::NotFound)
    }

    fn is_listed(directory: Ino, game: &Game) -> bool {
        match directory {
            GAMES => !game.is_deleted,
            DELETED => game.is_deleted,
            PLAYER => !game.is_deleted && game.text.contains('X'),
            _ => false,
        }
    }

    fn node_of(ino: Ino) -> Node {
        let is_directory = ino == Ino::ROOT || DIRECTORIES.iter().any(|(_, it)| *it == ino);
        Node {
            ino,
            kind: if is_directory {
                NodeKind::Directory
            } else {
                NodeKind::File(Size::Rendered)
            },
            links: 1,
            modified: SystemTime::UNIX_EPOCH,
        }
    }

    /// Stores `games`; returns how to undo it.
    fn store(&self, games: Vec<Game>, files: Vec<Ino>) -> Result<Saved, Refusal> {
        // Others have their chance meanwhile.
        std::thread::yield_now();
        let mut stored = self.stored.lock().unwrap();
        if stored.is_full {
            return Err(Refusal::Failed(Error::NoSpace));
        }
        assert_eq!(stored.games, self.games, "an edit of a state that is over");
        if games == self.games {
            return Ok(Saved {
                is_change: false,
                volume: None,
                touched: ChangedTexts::Of(Vec::new()),
                files,
                notes: Vec::new(),
            });
        }
        stored.games.clone_from(&games);
        stored.saves += 1;
        let volume = Texts {
            games,
            stored: Arc::clone(&self.stored),
        };
        Ok(Saved {
            is_change: true,
            volume: Some(Box::new(volume)),
            touched: ChangedTexts::Of(files.clone()),
            files,
            notes: Vec::new(),
        })
    }

    /// Replaces `earlier` games by those with these texts as far as possible;
    /// returns their files.
    fn with(&self, texts: Vec<String>, earlier: &[Ino]) -> (Vec<Game>, Vec<Ino>) {
        let (mut games, mut files) = (self.games.clone(), Vec::new());
        let mut earlier = earlier.iter();
        for text in texts {
            let new = Game {
                text,
                is_deleted: false,
            };
            let place = match earlier.next() {
                Some(ino) => ino.index() as usize - 1,
                None => games.len(),
            };
            if place == games.len() {
                games.push(new);
            } else {
                games[place] = new;
            }
            files.push(game(u32::try_from(place).unwrap() + 1));
        }
        for left in earlier {
            games[left.index() as usize - 1].is_deleted = true;
        }
        (games, files)
    }
}

/// The only game in a text.
pub(crate) fn parse(text: &str) -> Result<String, Refusal> {
    let trimmed = text.trim();
    if trimmed.matches('*').count() != 1 || !trimmed.ends_with('*') || trimmed.contains('\0') {
        let why = format!("line 1, column {}: found the end, expected *", text.len());
        return Err(Refusal::Text(why));
    }
    Ok(format!("{trimmed}\n"))
}

fn parse_bytes(text: &[u8]) -> Result<String, Refusal> {
    parse(&String::from_utf8_lossy(text))
}

impl Volume for Texts {
    fn lookup(&self, directory: Ino, name: &[u8]) -> Result<Node, Error> {
        if directory == Ino::ROOT {
            let mut all = DIRECTORIES.iter();
            let found = all.find(|(it, _)| it.as_bytes() == name);
            return Ok(Texts::node_of(found.ok_or(Error::NotFound)?.1));
        }
        let ino = game(parse_game(name).ok_or(Error::NotFound)?);
        let found = self.get(ino)?;
        if Texts::is_listed(directory, found) {
            Ok(Texts::node_of(ino))
        } else {
            Err(Error::NotFound)
        }
    }

    fn node(&self, ino: Ino) -> Result<Node, Error> {
        let node = Texts::node_of(ino);
        if node.kind != NodeKind::Directory {
            self.get(ino)?;
        }
        Ok(node)
    }

    fn parent(&self, directory: Ino) -> Result<Ino, Error> {
        match Texts::node_of(directory).kind {
            NodeKind::Directory => Ok(Ino::ROOT),
            _ => Err(Error::NotADirectory),
        }
    }

    fn list(&self, directory: Ino, after: u64, listing: &mut Listing<'_>) -> Result<(), Error> {
        if directory == Ino::ROOT {
            for (cookie, (name, ino)) in (3..).zip(DIRECTORIES) {
                let node = Texts::node_of(ino);
                if cookie > after && !listing(&DirEntry { name, node, cookie }) {
                    return Ok(());
                }
            }
        }
        for (number, found) in (1..).zip(&self.games) {
            let cookie = u64::from(number) + 2;
            let mut name = String::new();
            format_game(number, &mut name);
            let entry = DirEntry {
                name: &name,
                node: Texts::node_of(game(number)),
                cookie,
            };
            if cookie > after && Texts::is_listed(directory, found) && !listing(&entry) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn render(&self, ino: Ino, text: &mut Vec<u8>) -> Result<Completeness, Error> {
        let found = self.get(ino)?;
        std::thread::yield_now();
        text.extend_from_slice(found.text.as_bytes());
        if found.text.starts_with("partial") {
            Ok(Completeness::Partial)
        } else {
            Ok(Completeness::Whole)
        }
    }

    fn statistics(&self) -> VolumeSize {
        VolumeSize::default()
    }

    fn rendered(&self) -> (Ino, Ino) {
        (game(1), game(u32::try_from(self.games.len()).unwrap()))
    }

    fn editor(&self) -> Option<&dyn Editor> {
        Some(self)
    }
}

impl Editor for Texts {
    fn role(&self, directory: Ino, name: &[u8]) -> Role {
        let name = str::from_utf8(name).unwrap();
        let is_hidden = name.starts_with('.');
        let is_scratch = is_hidden || name.strip_suffix(".pgn").is_none();
        let number = parse_game(name.as_bytes()).map(game);
        let next = game(u32::try_from(self.games.len()).unwrap() + 1);
        match (directory, number) {
            (GAMES | PLAYER, Some(ino)) => match self.get(ino) {
                Ok(found) if Texts::is_listed(directory, found) => Role::File(ino),
                Ok(found) if directory == GAMES && found.is_deleted => Role::Deleted(ino),
                Err(_) if directory == GAMES && ino == next => Role::New,
                _ => Role::Refused,
            },
            (GAMES | PLAYER, None) if is_scratch => Role::Scratch,
            (IMPORT, _) if is_hidden => Role::Scratch,
            (GAMES, None) => Role::New,
            (IMPORT, _) => Role::Import,
            _ => Role::Refused,
        }
    }

    fn is_editable(&self, file: Ino) -> bool {
        self.get(file).is_ok_and(|found| !found.is_deleted)
    }

    fn deletes_in(&self, directory: Ino) -> bool {
        directory == GAMES
    }

    fn replace(&self, file: Ino, text: &[u8], earlier: &[Ino]) -> Result<Saved, Refusal> {
        if self.get(file)?.text.starts_with("partial") {
            return Err(Refusal::Text("the game is damaged".to_owned()));
        }
        let others = earlier.iter().filter(|other| **other != file);
        let earlier: Vec<Ino> = std::iter::once(&file).chain(others).copied().collect();
        let (games, files) = self.with(vec![parse_bytes(text)?], &earlier);
        self.store(games, files)
    }

    fn append(&self, text: &[u8], earlier: &[Ino]) -> Result<Saved, Refusal> {
        let (games, files) = self.with(vec![parse_bytes(text)?], earlier);
        self.store(games, files)
    }

    fn import(
        &self,
        text: &mut dyn Input,
        _bad: Option<&mut dyn Write>,
        _is_over: &AtomicBool,
        earlier: &[Ino],
    ) -> Result<Saved, Refusal> {
        let pause = self.stored.lock().unwrap().pause.take();
        if let Some((begun, go_on)) = pause {
            begun.send(()).unwrap();
            go_on.recv().unwrap();
        }
        let mut all = String::new();
        let read = text.read_to_string(&mut all);
        read.map_err(|error| Error::Damaged(error.to_string()))?;
        let texts = all.trim().split_inclusive('*').map(parse);
        let (games, files) = self.with(texts.collect::<Result<_, _>>()?, earlier);
        self.store(games, files)
    }

    fn set_deleted(&self, file: Ino, is_deleted: bool) -> Result<Saved, Refusal> {
        let mut games = self.games.clone();
        games[file.index() as usize - 1].is_deleted = is_deleted;
        self.store(games, vec![file])
    }

    fn rename(&self, directory: Ino, from: &[u8], to: &[u8]) -> Result<Saved, Refusal> {
        match (directory, from, to) {
            (Ino::ROOT, b"X", [letter]) => {
                let mut games = self.games.clone();
                let letter = char::from(*letter).to_string();
                let mut renamed = Vec::new();
                for (number, found) in (1..).zip(&mut games) {
                    if found.text.contains('X') {
                        renamed.push(game(number));
                    }
                    found.text = found.text.replace('X', &letter);
                }
                self.store(games, renamed)
            }
            (Ino::ROOT, b"X", _) => Err(Error::NotEmpty.into()),
            _ => Err(Error::NotPermitted.into()),
        }
    }

    fn withdraw(&self, files: &[Ino]) -> Result<Saved, Refusal> {
        let (games, _) = self.with(Vec::new(), files);
        self.store(games, files.to_vec())
    }

    fn sync(&self) -> Result<(), Error> {
        let mut stored = self.stored.lock().unwrap();
        stored.syncs += 1;
        if stored.is_sync_failing {
            return Err(Error::NoSpace);
        }
        Ok(())
    }
}

/// A mount of three games, `one X *`, `two *` and `three X *`.
pub(crate) struct Mount {
    pub(crate) vfs: Vfs,
    pub(crate) stored: Arc<Mutex<Stored>>,
    pub(crate) state: tempfile::TempDir,
}

pub(crate) fn mount() -> Mount {
    mount_of(&["one X *\n", "two *\n", "three X *\n"])
}

pub(crate) fn mount_of(texts: &[&str]) -> Mount {
    mount_in(texts, tempfile::tempdir().unwrap(), 1 << 20)
}

pub(crate) fn mount_in(texts: &[&str], state: tempfile::TempDir, scratch_bytes: u64) -> Mount {
    let games: Vec<Game> = texts
        .iter()
        .map(|text| Game {
            text: (*text).to_owned(),
            is_deleted: false,
        })
        .collect();
    let stored = Arc::new(Mutex::new(Stored {
        games: games.clone(),
        ..Stored::default()
    }));
    let volume = Texts {
        games,
        stored: Arc::clone(&stored),
    };
    let options = Options {
        scratch_bytes,
        state: vec![state.path().to_path_buf()],
        ..Options::default()
    };
    Mount {
        vfs: Vfs::new(Box::new(volume), &options),
        stored,
        state,
    }
}

pub(crate) const WRITE: Access = Access {
    read: false,
    write: true,
    truncate: false,
    append: false,
};
pub(crate) const REWRITE: Access = Access {
    truncate: true,
    ..WRITE
};
pub(crate) const UPDATE: Access = Access {
    read: true,
    ..WRITE
};

/// Errors are errno values.
pub(crate) type Answer<T> = Result<T, i32>;

pub(crate) trait Errno<T> {
    fn errno(self) -> Answer<T>;
}

impl<T> Errno<T> for Result<T, Error> {
    fn errno(self) -> Answer<T> {
        self.map_err(|error| error.errno())
    }
}

impl Mount {
    /// Lets the next import wait. Returns the channels for its begin and its
    /// continuation.
    pub(crate) fn pause_import(&self) -> (Receiver<()>, Sender<()>) {
        let (begun, is_begun) = channel();
        let (go_on, is_to_go_on) = channel();
        self.stored.lock().unwrap().pause = Some((begun, is_to_go_on));
        (is_begun, go_on)
    }

    /// The stored texts, and the deleted ones with a mark.
    pub(crate) fn games(&self) -> Vec<String> {
        let stored = self.stored.lock().unwrap();
        let texts = stored.games.iter().map(|game| {
            let mark = if game.is_deleted { " deleted" } else { "" };
            format!("{}{mark}", game.text.trim())
        });
        texts.collect()
    }

    pub(crate) fn lookup(&self, directory: Ino, name: &str) -> Answer<Attr> {
        self.vfs.lookup(directory, name.as_bytes()).errno()
    }

    /// As open(2) does.
    pub(crate) fn open(&self, directory: Ino, name: &str, access: Access) -> Answer<Handle> {
        match self.lookup(directory, name) {
            Ok(attr) => self.vfs.drafts().open_file(attr.ino, access).errno(),
            Err(libc::ENOENT) if access.write => self.create(directory, name, false),
            Err(errno) => Err(errno),
        }
    }

    pub(crate) fn create(&self, directory: Ino, name: &str, is_exclusive: bool) -> Answer<Handle> {
        let created = self
            .vfs
            .drafts()
            .create(directory, name.as_bytes(), UPDATE, is_exclusive);
        created.errno().map(|(_, handle)| handle)
    }

    pub(crate) fn put(&self, handle: Handle, offset: u64, text: &str) {
        let length = self
            .vfs
            .drafts()
            .write(handle, offset, text.as_bytes())
            .unwrap();
        assert_eq!(length as usize, text.len());
    }

    /// As close(2) does.
    pub(crate) fn close(&self, handle: Handle) -> Answer<()> {
        let flushed = self.vfs.drafts().flush(handle).map(drop).errno();
        self.vfs.drafts().release(handle);
        flushed
    }

    /// As `> name` does.
    pub(crate) fn write(&self, directory: Ino, name: &str, text: &str) -> Answer<()> {
        let handle = self.open(directory, name, REWRITE)?;
        self.put(handle, 0, text);
        self.close(handle)
    }

    pub(crate) fn read(&self, directory: Ino, name: &str) -> Answer<String> {
        let attr = self.lookup(directory, name)?;
        let handle = self
            .vfs
            .drafts()
            .open_file(attr.ino, Access::READ)
            .errno()?;
        let bytes = self.vfs.drafts().read_open(handle, 0, 1 << 20).errno()?;
        self.vfs.drafts().release(handle);
        assert_eq!(attr.size, bytes.len() as u64, "{name}");
        if self.vfs.drafts().is_settled(&attr) {
            let read = self.vfs.read(attr.ino, 0, 1 << 20).unwrap();
            assert_eq!(read.to_vec(), bytes.to_vec());
        }
        assert_eq!(self.vfs.attr(attr.ino).unwrap().size, attr.size);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(crate) fn rename(&self, from: (Ino, &str), to: (Ino, &str)) -> Answer<()> {
        let mode = RenameMode::Plain;
        let (name, new) = (from.1.as_bytes(), to.1.as_bytes());
        self.vfs
            .drafts()
            .rename(from.0, name, to.0, new, mode)
            .errno()
    }

    pub(crate) fn unlink(&self, directory: Ino, name: &str) -> Answer<()> {
        self.vfs.drafts().unlink(directory, name.as_bytes()).errno()
    }

    /// The names in a directory, listed one by one. Each can be looked up, and
    /// is listed once.
    pub(crate) fn list(&self, directory: Ino) -> Vec<String> {
        let mut names = Vec::new();
        let mut after = 2;
        loop {
            let mut found = None;
            self.vfs
                .list(directory, after, &mut |entry| {
                    assert!(entry.cookie > after);
                    let is_first = found.is_none();
                    found.get_or_insert((entry.name.to_owned(), entry.node.ino, entry.cookie));
                    is_first
                })
                .unwrap();
            let Some((name, ino, cookie)) = found else {
                break;
            };
            let mut with_attr = None;
            self.vfs
                .list_with_attrs(directory, after, &mut |entry, attr| {
                    let attr = attr.unwrap().ok();
                    with_attr.get_or_insert((entry.name.to_owned(), attr));
                    false
                })
                .unwrap();
            let attr = self.lookup(directory, &name).unwrap();
            assert_eq!(attr.ino, ino, "{name}");
            assert_eq!(with_attr, Some((name.clone(), Some(attr))));
            names.push(name);
            after = cookie;
        }
        let once: BTreeSet<&String> = names.iter().collect();
        assert_eq!(once.len(), names.len(), "{names:?}");
        names
    }

    /// `.cbfs/rejected/`.
    pub(crate) fn rejected_directory(&self) -> Ino {
        let about = self.vfs.lookup(Ino::ROOT, b".cbfs").unwrap().ino;
        self.vfs.lookup(about, b"rejected").unwrap().ino
    }

    /// The names in `.cbfs/rejected/`.
    pub(crate) fn rejected(&self) -> Vec<String> {
        self.list(self.rejected_directory())
    }

    pub(crate) fn rejected_text(&self, name: &str) -> String {
        self.read(self.rejected_directory(), name).unwrap()
    }
}
