//! A glance at a main line: where its pieces come, without a question whether
//! its moves are legal.
//!
//! This takes a fraction of the time of decoding, and tells most games that a
//! search does not want. The main line stands in front of all variations, up to
//! the first end of a line. A ply costs three look-ups in small tables: the piece
//! that a code moves, the square of that piece, and the piece on its new square.

use std::sync::LazyLock;

use shakmaty::{Bitboard, CastlingSide, Role};

use super::decode::{Encoding, USUAL};
use super::numbered::{Moved, NumberedBoard, Unclear};
use super::opcode::{OPCODES, Opcode, Step};
use super::{HEAD_BYTES, SET_UP, word};
use crate::bytes::ByteReader;
use crate::game::{Glimpse, Moments, MoveEffect, Placement, Position};

/// Shows the placements at these moments of the main line of `blob`, which is
/// exactly one game, in order, until `show` returns false. Those up to the last
/// ply that [`decode`](super::MoveDecoder::decode) reads are as it reads them; more may
/// follow in a damaged game.
///
/// Returns false if the game cannot be followed that way, because it begins
/// with a set-up position, is Chess960, has the simple encoding, or does what
/// no game does. What was shown then tells nothing.
pub(in crate::cbh) fn glance(
    blob: &[u8],
    moments: Moments,
    show: &mut dyn FnMut(Glimpse<'_>) -> bool,
) -> bool {
    follow(blob, moments, show).is_ok()
}

fn follow(
    blob: &[u8],
    moments: Moments,
    show: &mut dyn FnMut(Glimpse<'_>) -> bool,
) -> Result<(), Unclear> {
    let flags = *blob.first().ok_or(Unclear)?;
    let encoding = Encoding::of_mode(flags & 0x3f).map_err(|_| Unclear)?;
    if flags & SET_UP != 0 || encoding.is_chess960 || !encoding.is_compact {
        return Err(Unclear);
    }
    let mut reader = ByteReader::new(blob);
    reader.skip(HEAD_BYTES).map_err(|_| Unclear)?;
    let [from_a1, from_h8] = &*USUAL_BOARDS;
    let board = if encoding.from_h8 { from_h8 } else { from_a1 };
    let mut line = MainLine {
        encoding,
        bytes: reader.rest().iter(),
        count: 0,
        ahead: None,
        board: board.clone(),
    };
    let mut moved = Moved {
        effect: MoveEffect::Material,
        squares: Bitboard::FULL,
    };
    loop {
        if moments.include(moved.effect, moved.squares, line.board.count()) {
            let shown = Glimpse {
                placement: line.board.placement(),
                effect: moved.effect,
                max_plies_left: line.bytes.len() + usize::from(line.ahead.is_some()),
            };
            if !show(shown) {
                return Ok(());
            }
        }
        let Some(next) = line.next_move()? else {
            return Ok(());
        };
        moved = next;
    }
}

/// The usual start with the numbers of its pieces, from a1 and from h8.
static USUAL_BOARDS: LazyLock<[NumberedBoard; 2]> = LazyLock::new(|| {
    let placement = Placement::of(&Position::default());
    USUAL
        .each_ref()
        .map(|list| NumberedBoard::new(placement, list.clone()))
});

/// A main line that is followed.
struct MainLine<'a> {
    encoding: Encoding,
    bytes: std::slice::Iter<'a, u8>,
    /// Moves so far, modulo 256.
    count: u8,
    /// The next opcode and its step, if it was taken from `bytes` already.
    ahead: Option<(u8, Step)>,
    board: NumberedBoard,
}

impl MainLine<'_> {
    #[inline]
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.next()?;
        Some(self.encoding.cipher.decode(byte, self.count))
    }

    /// Plays the next move. `None` at the end of the line.
    #[inline]
    fn next_move(&mut self) -> Result<Option<Moved>, Unclear> {
        let mut is_remembered = false;
        let moved = loop {
            let turn = self.board.placement().turn;
            let (code, step) = match self.ahead.take() {
                Some(ahead) => ahead,
                None => match self.next() {
                    Some(code) => (code, Step::of(turn, code)),
                    None => return Ok(None),
                },
            };
            if let Some(from) = self.board.numbers().square(turn, step.slot) {
                self.count = self.count.wrapping_add(1);
                // Looked up while this one is played.
                self.ahead = self.next().map(|code| (code, Step::of(!turn, code)));
                let to = step.target(from);
                let moved = self.board.play(Some(step.slot), step.role, from, to)?;
                return Ok(Some(moved));
            }
            match OPCODES.get(usize::from(code)).copied().ok_or(Unclear)? {
                Opcode::CastleShort => break self.board.castle(CastlingSide::KingSide)?,
                Opcode::CastleLong => break self.board.castle(CastlingSide::QueenSide)?,
                Opcode::Null => break self.board.pass(),
                Opcode::TwoBytes => break self.two_bytes()?,
                Opcode::Ignore => {}
                Opcode::Push => is_remembered = true,
                // What comes from here next goes on with the line.
                Opcode::Pop if is_remembered => return Err(Unclear),
                Opcode::Pop => return Ok(None),
                // The piece has left the board.
                Opcode::Step(..) | Opcode::PawnStep(..) | Opcode::Unused => return Err(Unclear),
            }
        };
        self.count = self.count.wrapping_add(1);
        Ok(Some(moved))
    }

    /// From, to and promotion in two bytes.
    #[cold]
    fn two_bytes(&mut self) -> Result<Moved, Unclear> {
        let (Some(high), Some(low)) = (self.next(), self.next()) else {
            return Err(Unclear);
        };
        let word = u16::from_be_bytes([high, low]);
        let (from, to) = word::squares(word);
        let placement = self.board.placement();
        let role = placement.role_at(from).ok_or(Unclear)?;
        let castles = role == Role::King && from.file().distance(to.file()) > 1;
        if castles || !placement.side(placement.turn).contains(from) {
            return Err(Unclear);
        }
        if role == Role::Pawn && Bitboard::BACKRANKS.contains(to) {
            return self.board.promote(from, to, word::promotion(word));
        }
        let slot = self.board.numbers().slot(placement.turn, from);
        self.board.play(slot, role, from, to)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::cbh::moves::MoveDecoder;
    use crate::cbh::moves::cipher::Cipher;
    use crate::cbh::moves::opcode::{POP, PUSH};
    use crate::cbh::{Database, Decoded, GameId, Options};
    use crate::game::{Game, Placement, PlyId};

    /// The placements of the main line as the rules have it.
    fn by_the_rules(game: &Game) -> Vec<Placement> {
        let mut position = game.start.position.clone();
        let mut all = vec![Placement::of(&position)];
        let mut at = PlyId::START;
        while let Some(next) = game.tree.first_child(at) {
            match game.tree.ply(next).unwrap().mv {
                Some(m) => drop(position.play(m).unwrap()),
                None => position.play_null(),
            }
            all.push(Placement::of(&position));
            at = next;
        }
        all
    }

    fn shown(blob: &[u8]) -> Option<Vec<(Placement, usize)>> {
        let mut all = Vec::new();
        let is_followed = glance(blob, Moments::ALL, &mut |shown| {
            all.push((*shown.placement, shown.max_plies_left));
            true
        });
        is_followed.then_some(all)
    }

    /// Whether a game can be followed; then the placements are those of the
    /// rules, as far as these go.
    fn agrees(blob: &[u8]) -> bool {
        let mut game = Game::default();
        let is_whole = MoveDecoder::default()
            .decode(blob, u8::MAX, &mut game)
            .is_ok();
        let Some(shown) = shown(blob) else {
            return false;
        };
        let expected = by_the_rules(&game);
        assert!(shown.len() >= expected.len());
        assert!(!is_whole || shown.len() == expected.len());
        for (at, (expected, (placement, left))) in expected.iter().zip(&shown).enumerate() {
            assert_eq!(placement, expected, "after {at} plies");
            assert!(*left >= game.tree.main_line_len() - at);
        }
        true
    }

    fn blobs(of: &str) -> Vec<Vec<u8>> {
        let database = Database::open(Path::new(of), &Options::default()).unwrap();
        let ids = (1..=database.last_id()).map(GameId);
        let stored = ids.filter_map(|id| database.stored_game(id).ok());
        stored.map(|stored| stored.moves).collect()
    }

    #[test]
    fn a_glance_sees_what_decoding_sees() {
        let (mut followed, mut all) = (0, 0);
        for entry in std::fs::read_dir("fixtures/cbh").unwrap() {
            let folder = entry.unwrap().path();
            let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
            let base = folder.join(name).with_extension("cbh");
            if !base.exists() {
                continue;
            }
            let Ok(database) = Database::open(&base, &Options::default()) else {
                continue;
            };
            for id in (1..=database.last_id()).map(GameId) {
                if let Ok(stored) = database.stored_game(id) {
                    followed += usize::from(agrees(&stored.moves));
                    all += 1;
                }
            }
        }
        assert!(followed * 2 > all, "{followed} of {all}");
        let mut sample = blobs("fixtures/cbh/sample/sample.cbh");
        sample.retain(|blob| blob[0] & SET_UP == 0);
        assert!(sample.iter().all(|blob| agrees(blob)));
    }

    #[test]
    fn a_line_that_goes_on_after_its_end_is_not_followed() {
        let [e4, c5, nf3, c6] = [128, 120, 105, 119];
        for (opcodes, plies) in [
            (&[e4, PUSH, c5, nf3, POP, c6, POP][..], Some(3)),
            (&[e4, PUSH, POP, c5, nf3, POP], None),
            (&[e4, PUSH, c5, PUSH, POP, nf3, POP, c6, POP], None),
        ] {
            let mut blob = vec![0; HEAD_BYTES];
            let mut count = 0;
            for &opcode in opcodes {
                blob.push(Cipher::CHESS.encode(opcode, count));
                count += u8::from(![PUSH, POP].contains(&opcode));
            }
            let seen = shown(&blob).map(|shown| shown.len() - 1);
            assert_eq!((seen, agrees(&blob)), (plies, plies.is_some()));
            let mut game = Game::default();
            let read = MoveDecoder::default().decode(&blob, u8::MAX, &mut game);
            assert_eq!((read, game.tree.main_line_len()), (Ok(()), 3));
        }
    }

    #[test]
    fn only_games_of_the_compact_encoding_from_the_usual_start_are_followed() {
        for (flags, is_followed) in [
            (0, true),
            (2, true),
            (4, true),
            (SET_UP, false),
            (SET_UP | 2, false),
            (SET_UP | 0x0a, false),
            (1, false),
            (8, false),
            (10, false),
        ] {
            let cipher = Cipher::of_mode(flags & 0x3f).unwrap();
            let blob = [flags, 0, 0, 5, cipher.encode(POP, 0)];
            assert_eq!(shown(&blob).is_some(), is_followed, "{flags}");
        }
    }

    #[test]
    fn a_glance_ends_when_it_is_told() {
        let blob = blobs("fixtures/cbh/sample/sample.cbh").remove(0);
        let mut count = 0;
        assert!(glance(&blob, Moments::ALL, &mut |_| {
            count += 1;
            count < 5
        }));
        assert_eq!(count, 5);
    }

    #[test]
    fn a_game_is_glanced_at_without_its_headers() {
        let base = Path::new("fixtures/cbh/sample/sample.cbh");
        let database = Database::open(base, &Options::default()).unwrap();
        let mut decoded = Decoded::default();
        let mut count = 0;
        assert!(
            database.glance(GameId(2), &mut decoded, Moments::ALL, &mut |_| {
                count += 1;
                true
            })
        );
        assert_eq!(count, 46, "the start, and 45 plies");
        assert!(!database.glance(GameId(1 << 20), &mut decoded, Moments::ALL, &mut |_| true));
    }

    proptest! {
        #[test]
        fn a_damaged_game_is_seen_up_to_the_damage(
            which in any::<prop::sample::Index>(),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let blobs = blobs("fixtures/cbh/sample/sample.cbh");
            let mut blob = blobs[which.index(blobs.len())].clone();
            for (at, byte) in changes {
                // The size of a blob is the storage's.
                let at = 4 + at.index(blob.len() - 4);
                blob[at] = byte;
            }
            agrees(&blob);
            blob.truncate(4 + cut.index(blob.len() - 3));
            agrees(&blob);
        }
    }
}
