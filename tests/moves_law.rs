//! Encoding and decoding of `.cbg`: the games of a base are encoded to the same
//! bytes, encoded games are decoded to the same game, and no bytes make the
//! decoder panic.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests fail and speak as tests do"
)]

mod common;

use std::path::{Path, PathBuf};

use cbfs::cbh::moves::{Encoded, MoveDecoder, Sequence, encode};
use cbfs::cbh::{Database, Decoded, Entry, GameId, Options, RecordKind};
use cbfs::game::{Branch, Game, MoveTree, PlyId, Position, Start, TreeBuilder};
use proptest::prelude::*;
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, CastlingSide, Move, Role, Square};

use common::{fixture_bases, fixtures, real_bases};

/// Games that are not encoded to the bytes they were read from: folder,
/// number, why.
const EXCEPTIONS: &[(&str, u32, &str)] = &[
    ("chess960-nonstandard", 1, "start number 253 for 455"),
    ("chess960-nonstandard", 3, "start number 253 for 454"),
    ("mate2", 7, "an opcode to ignore before the end"),
    ("no-end-marker", 1, "garbage after 107 plies"),
    ("no-end-marker", 2, "no end marker"),
    ("chess960", 7, "kings and rooks in four bytes"),
    ("chess960", 9, "kings and rooks in four bytes"),
    ("chess960", 11, "start number 785 for 370"),
    (
        "chess960",
        12,
        "start number 0 for none; squares of rooks without the right",
    ),
    (
        "chess960",
        13,
        "start number 0 for none; a square of a rook without the right",
    ),
    ("chess960", 14, "start number 0 for none"),
    ("damage", 4, "an illegal move"),
    ("encodings", 33, "two bytes where an opcode would do"),
    ("encodings", 34, "an opcode to ignore"),
    ("encodings", 35, "no end marker"),
    ("encodings", 36, "bytes after the end"),
    ("misplaced", 15, "bytes after the end"),
    ("misplaced", 16, "no end marker"),
    ("setups", 3, "castling rights without the rooks"),
    ("setups", 4, "castling without the stored right"),
];

#[test]
fn games_in_current_modes_are_encoded_to_the_same_bytes() {
    let (mut same, mut expected, mut different) = (0, Vec::new(), Vec::new());
    for base in real_bases().into_iter().chain(fixture_bases()) {
        let folder = base.parent().and_then(Path::file_name).unwrap();
        let known = EXCEPTIONS.iter().filter(|known| folder == known.0);
        expected.extend(known.map(|&(folder, id, _)| (folder.to_owned(), id)));
        for_each_blob(&base, |id, blob, decoded| {
            if !matches!(mode(blob), 0 | 10) {
                return;
            }
            let encoded = encode(&decoded.game).unwrap();
            assert_in_order(&encoded.sequence, &decoded.game.tree);
            if encoded.blob == blob {
                same += 1;
            } else {
                different.push((folder.to_str().unwrap().to_owned(), id.0));
            }
        });
    }
    assert_eq!(different, expected);
    assert!(same > 100, "only {same} games");
    println!(
        "{same} games are the same bytes again, {} not",
        different.len()
    );
}

#[test]
fn games_in_every_mode_are_preserved_by_encoding() {
    let mut checked = 0;
    for base in real_bases().into_iter().chain(fixture_bases()) {
        for_each_blob(&base, |id, _, decoded| {
            assert_survives(&decoded.game, &format!("{} {}", base.display(), id.0));
            checked += 1;
        });
    }
    assert!(checked > 60, "only {checked} games");
}

#[test]
fn changed_blobs_are_decoded_without_panic_and_preserved_if_complete() {
    for base in fixture_bases() {
        for_each_blob(&base, |id, blob, _| {
            for at in 0..blob.len() {
                for change in [0x01, 0x08, 0x0f, 0x10, 0x40, 0x80, 0xff] {
                    let mut changed = blob.to_vec();
                    changed[at] ^= change;
                    check_any(
                        &changed,
                        &format!("{} {} {at} {change}", base.display(), id.0),
                    );
                }
            }
        });
    }
}

proptest! {
    #[test]
    fn any_bytes_are_decoded_without_panic(
        flags in prop::sample::select(&[0, 1, 2, 5, 6, 10, 11, 0x40, 0x43, 0x4a, 0x4b, 0x3f, 0xff]),
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        check_any(&bytes, "any bytes");
        let mut headed = vec![flags, 0, 0, 0];
        headed.extend(bytes);
        check_any(&headed, "any bytes with a head");
    }

    #[test]
    fn generated_games_are_decoded_to_the_same_game(game in games()) {
        assert_survives(&game, "generated");
    }
}

#[test]
fn a_move_number_beyond_the_format_is_limited() {
    let mut game = Game::default();
    game.start.is_set_up = true;
    game.start.move_number = 300;
    let decoded = decode(&encode(&game).unwrap().blob, &game);
    assert_eq!(decoded.start.move_number, 255);
}

#[test]
fn stored_moves_are_complete_or_an_error() {
    let base = fixture("damage");
    let database = Database::open(&base, &Options::default()).unwrap();
    let sizes = |id| match database.stored_game(GameId(id)) {
        Ok(stored) => Ok((stored_size(&stored.moves), stored.moves.len())),
        Err(error) => Err(error.to_string()),
    };
    let (stored, read) = sizes(1).unwrap();
    assert_eq!(stored, read);
    for id in [0, 10, 1000] {
        assert_eq!(
            sizes(id),
            Err(format!("no game or text has the number {id}"))
        );
    }
    for (id, fault) in [(2, "0 left"), (3, "blob size is 0")] {
        let told = sizes(id).unwrap_err();
        assert!(told.contains(fault), "{told}");
    }
}

/// Calls `check` with every game of a base that has a blob.
fn for_each_blob(base: &Path, mut check: impl FnMut(GameId, &[u8], &Decoded)) {
    let database = Database::load(base, &Options::default()).unwrap();
    let mut entries = Vec::new();
    let first = GameId(1);
    database
        .entries(first, database.last_id(), &mut entries)
        .unwrap();
    let mut decoded = Decoded::default();
    for Entry { id, kind, .. } in entries {
        if kind != RecordKind::Game {
            continue;
        }
        database.read_game(id, &mut decoded).unwrap();
        if let Ok(stored) = database.stored_game(id) {
            check(id, &stored.moves, &decoded);
        }
    }
}

/// The size that the head of a blob tells.
fn stored_size(blob: &[u8]) -> usize {
    u32::from_be_bytes([0, blob[1], blob[2], blob[3]]) as usize
}

/// A base made by us.
fn fixture(name: &str) -> PathBuf {
    let folder = fixtures().join("cbh").join(name);
    folder.join(name).with_extension("cbh")
}

fn mode(blob: &[u8]) -> u8 {
    blob[0] & 0x3f
}

/// Decodes any bytes; what has no fault survives being encoded.
fn check_any(blob: &[u8], whence: &str) {
    let mut game = Game::default();
    if MoveDecoder::default().decode(blob, 0, &mut game).is_ok() {
        assert_survives(&game, whence);
    }
}

/// Decodes what `game` was encoded to.
fn decode(blob: &[u8], game: &Game) -> Game {
    assert_eq!(stored_size(blob), blob.len());
    let black_begins = usize::from(game.start.position.turn().is_black());
    let moves = match game.tree.main_line().count() {
        0 => 0,
        plies => (plies + 1 + black_begins) / 2,
    };
    let mut decoded = Game::default();
    let move_count = u8::try_from(moves).unwrap_or(u8::MAX);
    let result = MoveDecoder::default().decode(blob, move_count, &mut decoded);
    assert_eq!(result, Ok(()), "{blob:02x?}");
    decoded
}

/// Holds the decoded against the encoded: start, tree and sequence; and the
/// second blob against the first.
fn assert_survives(game: &Game, whence: &str) {
    let Encoded { blob, sequence } = encode(game).unwrap();
    let decoded = decode(&blob, game);
    assert_eq!(start(&decoded.start), start(&game.start), "{whence}");
    assert_eq!(decoded.tree.len(), game.tree.len(), "{whence}");
    let again = encode(&decoded).unwrap();
    assert_eq!(again.blob, blob, "{whence}");
    assert_in_order(&again.sequence, &decoded.tree);
    let mut plies: Vec<PlyId> = game.tree.places().skip(1).collect();
    plies.sort_by_key(|ply| sequence.position(*ply));
    for (ours, theirs) in plies.into_iter().zip(decoded.tree.places().skip(1)) {
        let (ply, other) = (
            game.tree.ply(ours).unwrap(),
            decoded.tree.ply(theirs).unwrap(),
        );
        assert_eq!((ply.mv, ply.san), (other.mv, other.san), "{whence}");
        for link in [
            MoveTree::parent,
            MoveTree::first_child,
            MoveTree::next_sibling,
        ] {
            let linked = link(&game.tree, ours).and_then(|ply| sequence.position(ply));
            let expected = link(&decoded.tree, theirs).and_then(|ply| again.sequence.position(ply));
            assert_eq!(linked, expected, "{whence}");
        }
        assert_eq!(sequence.position(ours), again.sequence.position(theirs));
    }
}

/// The sequence of a decoded game follows the numbers of its plies.
fn assert_in_order(sequence: &Sequence, tree: &MoveTree) {
    for (position, ply) in (-1..).zip(tree.places()) {
        assert_eq!(sequence.position(ply), Some(position));
    }
}

/// All that a start says.
fn start(start: &Start) -> (String, bool, bool, u16) {
    let mut fen = Vec::new();
    start.append_fen_to(&mut fen);
    let fen = String::from_utf8(fen).unwrap();
    (fen, start.is_set_up, start.is_chess960, start.move_number)
}

/// One step in the making of a game.
#[derive(Clone, Debug)]
enum Step {
    /// Plays one of the legal moves.
    Play(u16),
    /// Plays a promotion, a capture or castling if there is one.
    PlayRare(u16),
    /// Passes.
    Null,
    /// Goes back to a place where a ply was played, for a variation.
    Back(u16),
}

/// Games from many starts, with variations in the order in which somebody
/// could add them.
fn games() -> impl Strategy<Value = Game> {
    let step = prop_oneof![
        8 => any::<u16>().prop_map(Step::Play),
        3 => any::<u16>().prop_map(Step::PlayRare),
        1 => Just(Step::Null),
        2 => any::<u16>().prop_map(Step::Back),
    ];
    let steps = prop::collection::vec(step, 0..300);
    (starts(), steps).prop_map(|(start, steps)| {
        let mut game = Game {
            start,
            ..Game::default()
        };
        let mut line = TreeBuilder::new(&mut game.tree, &game.start.position);
        let mut places: Vec<Branch> = Vec::new();
        for step in steps {
            let legal = |is_wanted: fn(Move) -> bool| -> Vec<Move> {
                let legal = legal_moves(line.position()).into_iter();
                legal.filter(|&m| is_wanted(m)).collect()
            };
            let chosen = match step {
                Step::Play(choice) => choose(&legal(|_| true), choice),
                Step::PlayRare(choice) => choose(&legal(is_rare), choice),
                Step::Null => None,
                Step::Back(choice) => {
                    if let Some(place) = choose(&places, choice) {
                        line.resume(place);
                    }
                    continue;
                }
            };
            places.push(line.branch());
            match chosen {
                Some(m) => drop(line.play(m).unwrap()),
                None => drop(line.play_null()),
            }
        }
        game
    })
}

/// Starts of chess and Chess960: usual, set up, with many pieces of a kind,
/// with rights gone, without kings.
fn starts() -> impl Strategy<Value = Start> {
    let set_up = |(fen, number): (&str, u16)| {
        let fen: Fen = fen.parse().unwrap();
        Start::set_up(fen.into_setup(), CastlingMode::Standard, number)
    };
    let chess960 = |(fen, number): (&str, u16)| {
        let fen: Fen = fen.parse().unwrap();
        Start::set_up(fen.into_setup(), CastlingMode::Chess960, number)
    };
    let number = || prop::sample::select(&[0_u16, 1, 2, 53, 255]);
    prop_oneof![
        Just(Start::default()),
        (prop::sample::select(CHESS), number()).prop_map(set_up),
        (prop::sample::select(CHESS960), number()).prop_map(chess960),
    ]
}

const CHESS: &[&str] = &[
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r3k2r/8/8/8/8/8/8/R3K2R b Kq - 0 1",
    "4k3/PPPPPPPP/8/8/8/8/pppppppp/4K3 b - - 0 1",
    "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1",
    "8/2p5/3p4/KP5r/1R3pPk/8/4P3/8 b - g3 0 1",
    "q3k2q/1q4q1/2q2q2/8/8/2B2B2/1N1BBRR1/N2NKNRR w - - 0 1",
    "8/pppppppp/pppppppp/8/8/PPPPPPPP/PPPPPPPP/8 w - - 0 1",
    "kk6/8/8/8/8/8/PPPP4/KK6 w - - 0 1",
];

const CHESS960: &[&str] = &[
    "bnrkrbnq/pppppppp/8/8/8/8/PPPPPPPP/BNRKRBNQ w KQkq - 0 1",
    "rkr5/pppppppp/8/8/8/8/PPPPPPPP/RKR5 w KQkq - 0 1",
    "1rk3r1/8/8/8/8/8/8/1RK3R1 b Gb - 0 1",
    "rr2k1r1/pppppppp/8/8/8/8/PPPPPPPP/R3K1RR w Gb - 0 1",
    "4k3/8/8/8/8/8/8/6KR w H - 0 1",
    "rnb1k1r1/ppp1pp1p/3p2p1/6n1/P7/2N2B2/1PPPPP2/2BNK1RR b Gga - 0 10",
];

fn choose<T: Clone>(from: &[T], choice: u16) -> Option<T> {
    from.get(usize::from(choice) % from.len().max(1)).cloned()
}

fn is_rare(m: Move) -> bool {
    m.is_promotion() || m.is_castle() || m.is_en_passant() || m.is_capture()
}

/// Every legal move, also where shakmaty refuses the position.
fn legal_moves(position: &Position) -> Vec<Move> {
    let board = position.board();
    let squares = || Square::ALL.into_iter();
    let ours = board.by_color(position.turn()).into_iter();
    let pairs = ours.flat_map(|from| squares().map(move |to| (from, to)));
    let promotions = [
        None,
        Some(Role::Queen),
        Some(Role::Rook),
        Some(Role::Bishop),
        Some(Role::Knight),
    ];
    let normal = pairs.clone().flat_map(|(from, to)| {
        promotions.map(|promotion| Move::Normal {
            role: board.role_at(from).unwrap(),
            from,
            capture: board.role_at(to),
            to,
            promotion,
        })
    });
    let en_passant = pairs.map(|(from, to)| Move::EnPassant { from, to });
    let castling = [CastlingSide::KingSide, CastlingSide::QueenSide];
    let castling = castling
        .into_iter()
        .filter_map(|side| position.castling_move(side));
    let all = normal.chain(en_passant).chain(castling);
    all.filter(|&m| position.is_legal(m)).collect()
}
