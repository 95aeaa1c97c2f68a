//! Gives the games of a base moves of their own.
//!
//! `scripts/multiply` repeats the moves of a base; a search through such a base has
//! fewer positions to tell apart than one of games that were all played. This
//! program writes the moves anew: of each game the first 6 to 30 plies stay, then
//! follow legal moves, drawn by a seeded choice, until the game is as long as it was
//! or over. Names, results and all else stay. The same base gives the same bytes.
//!
//! `cargo bench --bench varied -- BASE.cbh` changes the base in its place; it must
//! have no annotations.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a program for measuring prints what it does and stops where it cannot"
)]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use cbfs::cbh::moves::encode;
use cbfs::cbh::{Database, Decoded, GameId, Options, RecordKind};
use cbfs::game::{Game, TreeBuilder};
use shakmaty::{Chess, Position as _};

/// Games that a core takes at a time.
const STRETCH: u32 = 1024;

/// Bytes of a record of `.cbh`; its moves are at 1:4, their number at 45.
const RECORD: usize = 46;

/// Bytes of the header of `.cbj`; a record there has its moves at 30:8.
const EXTENDED_HEADER: usize = 32;

/// A game with its new moves: the blob, and how many moves it has.
type Varied = Option<(Vec<u8>, u8)>;

/// The next of a row of numbers (splitmix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn below(state: &mut u64, limit: usize) -> usize {
    usize::try_from(next(state) % limit as u64).expect("it is less than a usize")
}

/// The game with other moves from a ply on; itself if it does not begin as usual.
fn vary(game: &Game, number: u32) -> Game {
    if game.start.is_set_up || game.start.is_chess960 {
        return game.clone();
    }
    let mut state = u64::from(number) << 20;
    let kept = 6 + below(&mut state, 25);
    let mut varied = game.clone();
    varied.clear_moves();
    let mut line = TreeBuilder::new(&mut varied.tree, &game.start.position);
    let mut rules = Chess::default();
    for (at, id) in game.tree.main_line().enumerate() {
        let own = game
            .tree
            .ply(id)
            .and_then(|ply| ply.mv)
            .filter(|_| at < kept);
        let m = own.or_else(|| {
            let moves = rules.legal_moves();
            let count = moves.len();
            (count > 0)
                .then(|| moves.get(below(&mut state, count)).copied())
                .flatten()
        });
        let Some(m) = m else {
            break;
        };
        line.play(m).expect("the move is legal");
        rules.play_unchecked(m);
    }
    varied
}

fn varied(database: &Database, numbers: Range<u32>) -> Vec<Varied> {
    let mut decoded = Decoded::default();
    let mut entries = Vec::new();
    database
        .entries(
            GameId(numbers.start),
            numbers.end - numbers.start,
            &mut entries,
        )
        .expect("the headers can be read");
    let all = entries.iter().map(|entry| {
        if entry.kind != RecordKind::Game {
            return None;
        }
        database
            .read_game(entry.id, &mut decoded)
            .expect("the game can be read");
        let game = vary(&decoded.game, entry.id.0);
        let moves = game.tree.main_line_len().div_ceil(2);
        let blob = encode(&game).expect("what was read can be written").blob;
        Some((blob, u8::try_from(moves).unwrap_or(u8::MAX)))
    });
    all.collect()
}

/// The files that say where moves are.
struct Files {
    moves: BufWriter<File>,
    end: u64,
    headers: Vec<u8>,
    extended: Vec<u8>,
    extended_bytes: usize,
}

impl Files {
    fn new(base: &Path) -> Files {
        let read = |extension| fs::read(base.with_extension(extension)).expect("it can be read");
        let annotations = read("cba");
        assert!(annotations.len() <= 26, "the base has annotations");
        let header = read("cbg").get(..26).expect("it has a header").to_vec();
        let moves = File::create(base.with_extension("cbg.new")).expect("it can be made");
        let mut moves = BufWriter::with_capacity(1 << 20, moves);
        moves.write_all(&header).expect("it can be written");
        let extended = read("cbj");
        let size = extended.get(4..8).and_then(|size| size.first_chunk());
        Files {
            moves,
            end: 26,
            headers: read("cbh"),
            extended_bytes: size.map_or(0, |size| u32::from_le_bytes(*size) as usize),
            extended,
        }
    }

    fn add(&mut self, number: usize, blob: &[u8], moves: u8) {
        let header = self.headers.get_mut(number * RECORD..).expect("a record");
        let at = u32::try_from(self.end).expect("moves end within 4 GiB");
        header
            .get_mut(1..5)
            .expect("an offset")
            .copy_from_slice(&at.to_be_bytes());
        *header.get_mut(45).expect("a number of moves") = moves;
        let start = EXTENDED_HEADER + (number - 1) * self.extended_bytes + 30;
        let place = self.extended.get_mut(start..start + 8).expect("a record");
        place.copy_from_slice(&self.end.to_be_bytes());
        self.moves.write_all(blob).expect("it can be written");
        self.end += blob.len() as u64;
    }

    fn end(mut self, base: &Path) {
        self.moves.flush().expect("it can be written");
        let new = base.with_extension("cbg.new");
        let file = File::options().write(true).open(&new).expect("it is there");
        let size = u32::try_from(self.end).expect("moves end within 4 GiB");
        let write = |bytes: &[u8], at| {
            std::os::unix::fs::FileExt::write_all_at(&file, bytes, at).expect("it can be written");
        };
        // The size twice, and that nothing is wasted.
        write(&size.to_be_bytes(), 2);
        write(&[0; 4], 6);
        write(&self.end.to_be_bytes(), 10);
        write(&[0; 8], 18);
        fs::rename(&new, base.with_extension("cbg")).expect("it can be renamed");
        fs::write(base.with_extension("cbh"), &self.headers).expect("it can be written");
        fs::write(base.with_extension("cbj"), &self.extended).expect("it can be written");
    }
}

fn main() {
    let given = std::env::args_os()
        .skip(1)
        .find(|word| !word.to_string_lossy().starts_with('-'));
    let Some(base) = given.map(PathBuf::from) else {
        println!("no base was given; nothing is done");
        return;
    };
    let database = Database::open(&base, &Options::default()).expect("the base can be read");
    let last = database.last_id();
    let mut files = Files::new(&base);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let stretches = (1_u32..=last).step_by(STRETCH as usize);
    thread::scope(|scope| {
        let receivers: Vec<Receiver<Vec<Varied>>> = (0..cores)
            .map(|core| {
                let (sender, receiver) = sync_channel(4);
                let (own, database) = (stretches.clone().skip(core).step_by(cores), &database);
                scope.spawn(move || {
                    for from in own {
                        let to = from.saturating_add(STRETCH).min(last + 1);
                        if sender.send(varied(database, from..to)).is_err() {
                            return;
                        }
                    }
                });
                receiver
            })
            .collect();
        for (from, receiver) in stretches.clone().zip(receivers.iter().cycle()) {
            let games = receiver
                .recv()
                .expect("a thread sends what it was asked for");
            for (number, game) in (from as usize..).zip(games) {
                if let Some((blob, moves)) = game {
                    files.add(number, &blob, moves);
                }
            }
        }
    });
    drop(database);
    files.end(&base);
    println!("{last} records");
}
