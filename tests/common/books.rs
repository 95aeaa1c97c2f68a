//! An opening book in memory, and the behaviour of a mount of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};

use cbfs::book::{
    Book, BookFacts, BookFormat, CanonicalBoard, Error, PositionRecord, RelativeMove, Scanned,
    Squares, StoredMove,
};
use cbfs::game::{Defect, PieceMove, Position};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Move, Role, Square, uci::UciMove};

use super::behaviours::{Answer, Tree};

/// Lines of the book, in UCI. The first one returns to the start position by
/// two paths of different length; the second one contains check, mate,
/// castling, en passant and promotions.
pub const LINES: [&str; 6] = [
    "g1f3 g8f6 f3g1 f6g8",
    "e2e4 e7e5 f1c4 b8c6 d1h5 g8f6 h5f7",
    "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 e1g1",
    "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5c6 d7c6 f3g1 d8d7 g1f3 d7d8",
    "e2e4 g8f6 e4e5 d7d5 e5d6 f6g8 d6c7 e8d7 c7b8q",
    "e2e4 g8f6 e4e5 d7d5 e5d6 f6g8 d6c7 e8d7 c7d8q",
];

/// Lines that no path from the start reaches.
pub const ORPHANS: [(&str, &str); 2] = [
    ("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "e2e4 e8e7"),
    ("4k3/p7/8/8/8/8/8/4K3 b - - 0 1", "a7a5"),
];

/// A book made of lines of moves.
#[derive(Debug)]
pub struct MemoryBook {
    facts: BookFacts,
    records: HashMap<Key, PositionRecord>,
    boards: Vec<CanonicalBoard>,
    /// Number of lookups so far.
    pub finds: Arc<AtomicU64>,
}

type Key = (Squares, Option<u8>, u8);

fn key(board: &CanonicalBoard) -> Key {
    (*board.squares(), board.en_passant(), board.castling().0)
}

pub fn position(fen: &str) -> Position {
    let fen: Fen = fen.parse().unwrap();
    Position::from_setup(fen.into_setup(), CastlingMode::Standard)
}

/// The move with this name in UCI.
pub fn uci(position: &Position, name: &str) -> Move {
    let uci: UciMove = name.parse().unwrap();
    let UciMove::Normal {
        from,
        to,
        promotion,
    } = uci
    else {
        panic!("{name}");
    };
    let role = position.board().role_at(from).unwrap();
    for (side, king_to) in [
        (shakmaty::CastlingSide::KingSide, [Square::G1, Square::G8]),
        (shakmaty::CastlingSide::QueenSide, [Square::C1, Square::C8]),
    ] {
        if role == Role::King && king_to.contains(&to) && from.distance(to) == 2 {
            return position.castling_move(side).unwrap();
        }
    }
    let wanted = PieceMove {
        role,
        file: Some(from.file()),
        rank: Some(from.rank()),
        to,
        promotion,
    };
    position.find_move(wanted).unwrap()
}

fn relative_move(board: &CanonicalBoard, m: Move) -> RelativeMove {
    if let Some(side) = m.castling_side() {
        return RelativeMove::Castle(side);
    }
    let place = |square: Square| {
        let (mut file, mut rank) = (square.file() as u8, square.rank() as u8);
        if board.is_mirrored() {
            file = 7 - file;
        }
        if board.is_black_to_move() {
            rank = 7 - rank;
        }
        (file, rank)
    };
    let ((file, rank), (to_file, to_rank)) = (place(m.from().unwrap()), place(m.to()));
    let role = m.role();
    let all = board.squares().iter().flatten();
    let before = all.take(usize::from(file * 8 + rank) + 1);
    let nth = before.filter(|&&piece| piece == role as u8).count();
    RelativeMove::Step {
        role,
        nth: u8::try_from(nth).unwrap(),
        files: (to_file + 8 - file) % 8,
        ranks: (to_rank + 8 - rank) % 8,
    }
}

impl MemoryBook {
    /// The book of [`LINES`] and [`ORPHANS`].
    pub fn sample() -> MemoryBook {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let lines = LINES.iter().map(|line| (start, *line));
        MemoryBook::of(lines.chain(ORPHANS))
    }

    /// A book of these lines, each with the FEN of its start.
    pub fn of<'a>(lines: impl IntoIterator<Item = (&'a str, &'a str)>) -> MemoryBook {
        let mut book = MemoryBook {
            facts: BookFacts {
                format: BookFormat::Ctg,
                stem: "memory".to_owned(),
                title: None,
                members: Vec::new(),
                pages: 1,
                page_bytes: 4096,
                positions: None,
                games: Some(0),
                header: Vec::new(),
            },
            records: HashMap::new(),
            boards: Vec::new(),
            finds: Arc::default(),
        };
        for (fen, line) in lines {
            book.add_line(fen, line);
        }
        book.facts.positions = Some(book.boards.len() as u64);
        book
    }

    fn add_line(&mut self, fen: &str, line: &str) {
        let mut position = position(fen);
        let mut moves = line.split(' ');
        loop {
            let board = CanonicalBoard::of(&position).unwrap();
            if !self.records.contains_key(&key(&board)) {
                // White is to move on a board that is stored.
                let stored =
                    CanonicalBoard::stored(*board.squares(), board.en_passant(), board.castling());
                self.boards.push(stored.unwrap());
            }
            let record = self.records.entry(key(&board)).or_default();
            record.games += 1;
            record.wins += 1;
            record.score = Some(record.games * 10);
            record.weight = Some(0);
            let Some(name) = moves.next() else { return };
            let m = uci(&position, name);
            let stored = StoredMove {
                code: u8::try_from(record.moves.len()).unwrap(),
                meaning: Some(relative_move(&board, m)),
                alternative: None,
                annotation: 0,
            };
            if record
                .moves
                .iter()
                .all(|known| known.meaning != stored.meaning)
            {
                record.moves.push(stored);
            }
            position.play(m).unwrap();
        }
    }
}

impl Book for MemoryBook {
    fn facts(&self) -> &BookFacts {
        &self.facts
    }

    fn defects(&self) -> Vec<Defect> {
        Vec::new()
    }

    fn find(&self, board: &CanonicalBoard) -> Result<Option<PositionRecord>, Error> {
        self.finds.fetch_add(1, SeqCst);
        Ok(self.records.get(&key(board)).cloned())
    }

    fn scan(
        &self,
        visit: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
        _: &mut dyn FnMut(Defect),
    ) -> Result<(), Error> {
        for board in &self.boards {
            let scanned = Scanned {
                board,
                record: &self.records[&key(board)],
                file: "ctg",
                name: None,
                offset: 4096,
            };
            if visit(scanned).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn check(&self, _: &mut dyn FnMut(Defect)) -> Result<(), Error> {
        Ok(())
    }
}

/// A book in which the lookup of one position blocks until the test releases
/// it, so that walks of the whole book take as long as the test wants.
#[derive(Debug)]
pub struct GatedBook {
    book: MemoryBook,
    stop: Key,
    gate: Arc<Gate>,
}

/// The gate at which walks block.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<(u32, bool)>,
    changed: Condvar,
}

impl Gate {
    /// Waits until this many walks have arrived.
    pub fn wait_for(&self, count: u32) {
        let state = self.state.lock().unwrap();
        let waited = self
            .changed
            .wait_while(state, |(waiting, _)| *waiting < count);
        drop(waited.unwrap());
    }

    pub fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 += 1;
        self.changed.notify_all();
        let passed = self.changed.wait_while(state, |(_, is_open)| !*is_open);
        drop(passed.unwrap());
    }
}

impl GatedBook {
    /// [`MemoryBook::sample`] with a gate at the positions after `1. e4 e5`.
    pub fn sample() -> (GatedBook, Arc<Gate>) {
        let after = position("rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 0 1");
        let gate = Arc::new(Gate::default());
        let book = GatedBook {
            book: MemoryBook::sample(),
            stop: key(&CanonicalBoard::of(&after).unwrap()),
            gate: Arc::clone(&gate),
        };
        (book, gate)
    }
}

impl Book for GatedBook {
    fn facts(&self) -> &BookFacts {
        self.book.facts()
    }

    fn defects(&self) -> Vec<Defect> {
        self.book.defects()
    }

    fn find(&self, board: &CanonicalBoard) -> Result<Option<PositionRecord>, Error> {
        if key(board) == self.stop {
            self.gate.pass();
        }
        self.book.find(board)
    }

    fn scan(
        &self,
        visit: &mut dyn FnMut(Scanned<'_>) -> ControlFlow<()>,
        defect: &mut dyn FnMut(Defect),
    ) -> Result<(), Error> {
        self.book.scan(visit, defect)
    }

    fn check(&self, defect: &mut dyn FnMut(Defect)) -> Result<(), Error> {
        self.book.check(defect)
    }
}

/// A tree of files with symbolic links.
pub trait LinkedTree: Tree {
    /// The target of a symbolic link; an error for any other file.
    fn target(&self, path: &str) -> Answer<String>;
}

pub type BookBehaviour = (&'static str, fn(&dyn LinkedTree));

/// Checks a mount of [`MemoryBook::sample`].
pub const BOOK_BEHAVIOURS: &[BookBehaviour] = &[
    ("a move is a link to a position", a_move_is_a_link),
    ("a move has other names too", a_move_has_other_names),
    ("a walk ends", a_walk_ends),
    (
        "a transposition is one directory",
        a_transposition_is_one_directory,
    ),
    ("any position is found by its FEN", positions_by_fen),
    ("no other name is there", other_names_are_not_there),
    ("what no line reaches is listed", unreachable_is_listed),
    ("sizes are exact before the first read", sizes_are_exact),
    ("any part can be read", any_part_can_be_read),
    ("moves are told with numbers", moves_are_told),
    ("the whole book is one game", the_book_is_a_game),
];

/// The files of each position.
pub const FILES: [&str; 8] = [
    "position.fen",
    "board.txt",
    "board.svg",
    "moves.tsv",
    "stats.json",
    "line.pgn",
    "book.pgn",
    "openings.pgn",
];

pub const START: &str = "rnbqkbnr:pppppppp:8:8:8:8:PPPPPPPP:RNBQKBNR_w_KQkq_-";

fn names(tree: &dyn LinkedTree, path: &str) -> Vec<String> {
    let listed = tree.list(path).unwrap().into_iter();
    listed.map(|(name, _)| name).collect()
}

fn moves(tree: &dyn LinkedTree, path: &str) -> BTreeSet<String> {
    let names = names(tree, path).into_iter();
    names.filter(|name| !FILES.contains(&&**name)).collect()
}

fn text(tree: &dyn LinkedTree, path: &str) -> String {
    String::from_utf8(tree.read(path).unwrap()).unwrap()
}

fn a_move_is_a_link(tree: &dyn LinkedTree) {
    let set = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    for start in ["tree", "uci", "fen/startpos"] {
        assert_eq!(moves(tree, start), set(&["Nf3", "e4"]), "{start}");
        let target = format!("{}{START}", if start.contains('/') { "" } else { "fen/" });
        assert_eq!(tree.target(start), Ok(target));
    }
    assert_eq!(
        tree.target("tree/e4").as_deref(),
        Ok("../rnbqkbnr:pppppppp:8:8:4P3:8:PPPP1PPP:RNBQKBNR_b_KQkq_-")
    );
    assert_eq!(
        moves(tree, "uci/e2e4/e7e5/g1f3/b8c6/f1b5/a7a6"),
        set(&["O-O", "Bxc6"])
    );
    let pawn = "tree/e4/Nf6/e5/d5/exd6/Ng8/dxc7/Kd7";
    assert_eq!(moves(tree, pawn), set(&["cxb8=Q", "cxd8=Q"]));
    let mated = "tree/e4/e5/Bc4/Nc6/Qh5/Nf6/Qxf7";
    assert_eq!(moves(tree, mated), BTreeSet::new());
    assert_eq!(
        text(tree, &format!("{mated}/position.fen")),
        "r1bqkb1r/pppp1Qpp/2n2n2/4p3/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 0 1\n"
    );
    let line = text(tree, &format!("{mated}/line.pgn"));
    assert!(
        line.contains("\n1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7#"),
        "{line}"
    );
    assert!(!line.contains("FEN"), "{line}");
    for path in ["fen", "line", "unreachable", &format!("fen/{START}")] {
        assert!(tree.stat(path).unwrap().is_directory, "{path}");
    }
    assert_eq!(tree.target("fen"), Err(libc::EINVAL));
    assert_eq!(tree.target("tree/position.fen"), Err(libc::EINVAL));
}

fn a_move_has_other_names(tree: &dyn LinkedTree) {
    for (name, others) in [
        ("tree/e4", &["tree/e2e4", "tree/e4+"][..]),
        (
            "tree/e4/e5/Bc4/Nc6/Qh5/Nf6/Qxf7",
            &[
                "tree/e4/e5/Bc4/Nc6/Qh5/Nf6/Qxf7#",
                "tree/e4/e5/Bc4/Nc6/Qh5/Nf6/h5f7",
            ],
        ),
        (
            "tree/e4/e5/Nf3/Nc6/Bb5/a6/O-O",
            &[
                "tree/e4/e5/Nf3/Nc6/Bb5/a6/0-0",
                "tree/e4/e5/Nf3/Nc6/Bb5/a6/e1g1",
            ],
        ),
        (
            "tree/e4/e5",
            &["tree/e4 e5", "tree/1.e4 e7e5", "uci/e2e4/e7e5"],
        ),
        ("line/e4 e5", &["line/1.e4 e5", "line/e2e4 e7e5"]),
    ] {
        let known = tree.stat(name).unwrap();
        for other in others {
            assert_eq!(tree.stat(other).unwrap().ino, known.ino, "{other}");
        }
    }
}

/// Every path below `path` except links to directories, with its inode number.
pub fn walk(tree: &dyn LinkedTree, path: &str, out: &mut BTreeMap<String, u64>) {
    for (name, ino) in tree.list(path).unwrap() {
        let path = if path.is_empty() {
            name
        } else {
            format!("{path}/{name}")
        };
        assert!(path.len() < 1000, "{path}");
        if path == ".cbfs" {
            continue;
        }
        let is_directory = tree.stat(&path).unwrap().is_directory;
        assert_eq!(
            out.insert(path.clone(), ino),
            None,
            "{path} is listed twice"
        );
        if is_directory {
            walk(tree, &path, out);
        }
    }
}

fn a_walk_ends(tree: &dyn LinkedTree) {
    let mut paths = BTreeMap::new();
    walk(tree, "", &mut paths);
    let numbers: BTreeSet<u64> = paths.values().copied().collect();
    assert_eq!(numbers.len(), paths.len(), "each has a number of its own");
    assert!(numbers.iter().all(|number| *number < 1 << 53));
    let links: Vec<&String> = paths
        .keys()
        .filter(|path| tree.target(path).is_ok())
        .collect();
    // The start position twice, and what no line reaches: no position is
    // listed but in another.
    assert_eq!(links.len(), 2 + 5, "{links:?}");
}

fn a_transposition_is_one_directory(tree: &dyn LinkedTree) {
    // Not the one after 3... dxc6: White may castle no more.
    for (one, other) in [
        ("tree/Nf3/Nf6/Ng1/Ng8", "tree"),
        ("tree/e4/e5/Nf3/Nc6", "tree/Nf3/Nc6/e4/e5"),
        (
            "tree/e4/e5/Nf3/Nc6/Bb5/a6/Bxc6/dxc6/Ng1/Qd7/Nf3/Qd8",
            "line/e4 e5 Nf3 Nc6 Bb5 a6 Bxc6 dxc6",
        ),
    ] {
        let target = |path| {
            let target = tree.target(path).unwrap();
            target.rsplit('/').next().unwrap().to_owned()
        };
        assert_eq!(target(one), target(other));
        // The shortest line leads there, whatever way was taken.
        let line = text(tree, &format!("{one}/line.pgn"));
        assert_eq!(line, text(tree, &format!("{other}/line.pgn")));
    }
    let line = text(tree, "tree/Nf3/Nf6/Ng1/Ng8/line.pgn");
    assert!(
        line.ends_with("\n\n*\n") || line.ends_with("\n\n*\n\n"),
        "{line:?}"
    );
}

fn positions_by_fen(tree: &dyn LinkedTree) {
    assert_eq!(names(tree, "fen"), Vec::<String>::new());
    let start = format!("fen/{START}");
    assert_eq!(moves(tree, &start), moves(tree, "tree"));
    for counters in ["0_1", "7_31"] {
        let other = format!("{start}_{counters}");
        let target = tree.target(&other);
        assert_eq!(target.as_deref(), Ok(START), "{other}");
    }
    // Each has its own number.
    assert_ne!(
        tree.stat(&start).unwrap().ino,
        tree.stat(&format!("{start}_0_1")).unwrap().ino
    );
    assert_eq!(
        text(tree, &format!("{start}/e4/Nf6/position.fen")),
        text(tree, "tree/e4/Nf6/position.fen")
    );
    // Not in the book.
    let other = "fen/4k3:8:8:8:8:8:8:R3K3_w_Q_-";
    assert_eq!(names(tree, other), FILES);
    let fen = text(tree, &format!("{other}/position.fen"));
    assert_eq!(fen, "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1\n");
    let line = text(tree, &format!("{other}/line.pgn"));
    assert!(
        line.contains("[FEN \"4k3/8/8/8/8/8/8/R3K3 w Q - 0 1\"]"),
        "{line}"
    );
    // Any legal move can be looked up.
    assert!(tree.target(&format!("{other}/O-O-O")).is_ok());
    assert_eq!(
        tree.stat(&format!("{other}/O-O")).unwrap_err(),
        libc::ENOENT
    );
}

fn other_names_are_not_there(tree: &dyn LinkedTree) {
    for path in [
        "tree/e5",
        "tree/e4/e4",
        "tree/moves",
        "uci/e2e5",
        "line/e5",
        "line/e4 e5 e5",
        "fen/.hidden",
        "unreachable/0",
        "unreachable/00000000000000000000000000000000",
        "games",
        "tree/e4/position.fen.gz",
    ] {
        assert_eq!(tree.stat(path).unwrap_err(), libc::ENOENT, "{path}");
    }
    for path in ["fen/x", "fen/8:8:8:8:8:8:8:8_w_-_-"] {
        assert_eq!(tree.stat(path).unwrap_err(), libc::EINVAL, "{path}");
    }
    assert_eq!(tree.stat("tree/position.fen/x").unwrap_err(), libc::ENOTDIR);
    assert_eq!(tree.list("README.txt").unwrap_err(), libc::ENOTDIR);
}

fn unreachable_is_listed(tree: &dyn LinkedTree) {
    let found: BTreeSet<String> = names(tree, "unreachable")
        .iter()
        .map(|name| text(tree, &format!("unreachable/{name}/position.fen")))
        .collect();
    // As a book stores them: White to move.
    let expected = [
        "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\n",
        "4k3/8/8/4p3/8/8/8/4K3 w - - 0 1\n",
        "8/4k3/8/8/4P3/8/8/4K3 w - - 0 1\n",
        "4k3/8/8/8/8/8/P7/4K3 w - - 0 1\n",
        "4k3/8/8/p7/8/8/8/4K3 w - - 0 1\n",
    ];
    assert_eq!(found, expected.map(str::to_owned).into());
    let all = names(tree, "unreachable");
    // Each has one name, and goes on.
    let wide = format!("unreachable/0{}", all[0]);
    assert_eq!(tree.stat(&wide).unwrap_err(), libc::ENOENT);
    let goes_on = all.iter().filter(|name| {
        let path = format!("unreachable/{name}");
        !moves(tree, &path).is_empty()
    });
    assert_eq!(goes_on.count(), 3);
}

fn sizes_are_exact(tree: &dyn LinkedTree) {
    let mut paths = BTreeMap::new();
    walk(tree, "", &mut paths);
    let mut files = 0;
    for path in paths.keys() {
        if tree.stat(path).unwrap().is_directory || tree.target(path).is_ok() {
            continue;
        }
        let size = tree.stat(path).unwrap().size;
        assert_eq!(tree.read(path).unwrap().len() as u64, size, "{path}");
        files += 1;
    }
    assert!(files > 6, "{files}");
}

fn any_part_can_be_read(tree: &dyn LinkedTree) {
    for path in ["tree/e4/board.txt", "README.txt", "book.json"] {
        let whole = tree.read(path).unwrap();
        assert!(!whole.is_empty());
        for (offset, length) in [(0, 1), (10, 20), (whole.len() - 1, 100), (whole.len(), 5)] {
            let end = whole.len().min(offset + length);
            let part = tree.read_at(path, offset as u64, u32::try_from(length).unwrap());
            assert_eq!(part.unwrap(), whole[offset..end], "{path} {offset}");
        }
    }
}

fn moves_are_told(tree: &dyn LinkedTree) {
    let table = text(tree, "tree/moves.tsv");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(rows[0][..3], ["san", "uci", "games"]);
    assert_eq!(rows[0].len(), 18);
    assert_eq!(rows[0][15..], ["eco", "opening", "transposes"]);
    assert_eq!(rows[1][15..], ["B00", "King's Pawn Game", ""]);
    // Most games first.
    assert_eq!(rows[1][..3], ["e4", "e2e4", "5"]);
    assert_eq!(rows[2][..3], ["Nf3", "g1f3", "1"]);
    assert_eq!(rows.len(), 3);
    assert_eq!(text(tree, "uci/moves.tsv"), table);
    let stats: serde_json::Value = serde_json::from_str(&text(tree, "tree/e4/stats.json")).unwrap();
    assert_eq!(stats["to_move"], "black");
    assert_eq!(stats["position"]["games"], 5);
    let other = text(tree, "fen/4k3:8:8:8:8:8:8:R3K3_w_Q_-/moves.tsv");
    assert_eq!(other.lines().count(), 1);
    assert_eq!(text(tree, "warnings.txt"), "");
    let book: serde_json::Value = serde_json::from_str(&text(tree, "book.json")).unwrap();
    assert_eq!(book["name"], "memory");
    // Counted, and not what a header says.
    let epd = text(tree, "export/book.epd").lines().count();
    assert_eq!(book["positions"], epd + names(tree, "unreachable").len());
}

fn the_book_is_a_game(tree: &dyn LinkedTree) {
    let game = text(tree, "export/book.pgn");
    assert_eq!(game.matches("[Event ").count(), 1);
    assert!(game.contains("O-O") && game.contains("Qxf7#"), "{game}");
    let epd = text(tree, "export/book.epd");
    let positions = text(tree, "export/positions.tsv");
    assert_eq!(positions.lines().count(), epd.lines().count() + 1);
    assert_eq!(tree.stat("export/book.bin").unwrap().size % 16, 0);
    // From a position on, with the moves that lead there.
    let from = text(tree, "tree/e4/Nf6/e5/book.pgn");
    assert!(
        from.contains("1. e4 Nf6 2. e5 d5 ") && !from.contains("Bb5"),
        "{from}"
    );
}
