//! The moves of a game: words of 16 bits.
//!
//! A start section may come first, `fffb` and its words ([`start`]); then
//! `fffc` and the moves ([`words`]), and nothing else.
//!
//! The main line comes first, to its end. `fffd` after a move says that
//! another move can be played instead of it, which comes later: at the end of
//! a line, `ffff`, the next word is an alternative to the **last** move that
//! has one outstanding. At the end of the line at which none is, the game
//! ends.
//!
//! ```text
//! 1.e4 c5 (1...c6 2.d4) (1...Nf6 2.e5) 2.Nf3 d6 (2...Nc6 3.Bb5) 3.d4
//! e4 c5 fffd Nf3 d6 fffd d4 ffff Nc6 Bb5 ffff c6 fffd d4 ffff Nf6 e5 ffff
//! ```
//!
//! Annotations name a move by its place in the order of PGN ([`pgn_order`]),
//! not in this one.

mod start;
mod words;

pub(super) use words::square;

use shakmaty::{CastlingSide, Color, Move};

use super::frame;
use crate::bytes::Malformed;
use crate::game::{Branch, Game, MoveTree, PlyId, Start, TreeBuilder};
use words::Word;

/// Maximum number of pending alternatives. Real bases have at most 74; each
/// takes some hundred bytes, so this bounds the memory.
const MAX_OUTSTANDING: usize = 1 << 14;

/// Decodes content of this tag into `game`'s start and tree; appends what
/// keeps it from being what was written. Time and memory are linear in the
/// content. Offsets are those in the content.
///
/// Each word must fit the position in every part: whose move it is, what moves,
/// what stands where it goes, whether the rules allow it. After one that does
/// not, nothing more is read; then this gives the last move, in the order of
/// PGN, up to which all moves are there.
pub(super) fn decode(
    tag: u16,
    content: &[u8],
    game: &mut Game,
    faults: &mut Vec<Malformed>,
) -> Option<PlyId> {
    game.tree.clear();
    game.start = Start::default();
    let begun = begin(tag, content, game, faults);
    let read = begun.map_err(|fault| (fault, PlyId::START));
    let read = read.and_then(|(at, is_chess960)| {
        let mut stream = MoveReader {
            words: Words { bytes: content },
            at,
            line: TreeBuilder::new(&mut game.tree, &game.start.position),
            outstanding: Vec::new(),
            last: PlyId::START,
            is_chess960,
        };
        let read = stream.read();
        read.map_err(|fault| (fault, stream.known_to()))
    });
    match read {
        Ok(surplus) => {
            faults.extend(surplus);
            None
        }
        Err((fault, known_to)) => {
            faults.push(fault);
            Some(known_to)
        }
    }
}

/// Reads the part before the moves. Returns the index of their first word, and
/// whether the game is Chess960.
fn begin(
    tag: u16,
    content: &[u8],
    game: &mut Game,
    faults: &mut Vec<Malformed>,
) -> Result<(usize, bool), Malformed> {
    let is_chess960 = match tag {
        frame::GAME => false,
        frame::CHESS960 => true,
        tag => {
            return Err(Malformed::new(
                0,
                format!("record {tag:#06x} is none of moves"),
            ));
        }
    };
    let words = Words { bytes: content };
    let mut at = 0;
    if words.get(0) == Some(words::START) {
        let section: Vec<u16> = words.section_from(1).collect();
        let in_bytes = |fault: Malformed| Malformed::new(2 * (fault.offset + 1), fault.what);
        let (start, odd) = start::decode(&section, is_chess960).map_err(in_bytes)?;
        game.start = start;
        faults.extend(odd.map(in_bytes));
        at = 1 + section.len();
    } else if is_chess960 {
        game.start = Start::set_up(
            shakmaty::Setup::initial(),
            shakmaty::CastlingMode::Chess960,
            1,
        );
    }
    if words.get(at) != Some(words::MOVES) {
        return Err(Malformed::new(2 * at, "no moves begin here"));
    }
    Ok((at + 1, is_chess960))
}

/// Words of 16 bits.
#[derive(Clone, Copy)]
struct Words<'a> {
    bytes: &'a [u8],
}

impl Words<'_> {
    #[inline]
    fn get(&self, at: usize) -> Option<u16> {
        let word = self.bytes.get(2 * at..)?.first_chunk()?;
        Some(u16::from_le_bytes(*word))
    }

    /// Those from `at` to before the first mark.
    fn section_from(self, at: usize) -> impl Iterator<Item = u16> {
        let words = (at..).map_while(move |at| self.get(at));
        words.take_while(|word| *word < words::NULL)
    }
}

/// A decoder of moves into a tree.
struct MoveReader<'a, 'g> {
    words: Words<'a>,
    /// Index of the next word.
    at: usize,
    line: TreeBuilder<'g>,
    /// Branches with a pending alternative, each with the move that it
    /// replaces.
    outstanding: Vec<(Branch, PlyId)>,
    /// The last decoded move, or the one whose alternative comes next.
    last: PlyId,
    is_chess960: bool,
}

impl MoveReader<'_, '_> {
    /// Decodes the moves to their end. Returns the fault behind it, if any.
    fn read(&mut self) -> Result<Option<Malformed>, Malformed> {
        loop {
            let Some(word) = self.words.get(self.at) else {
                return Err(self.fault("the moves end without an end mark"));
            };
            match Word::of(word) {
                Word::Move(color, m) => self.play(word, color, |_| Some(m))?,
                Word::Castle(color, side, is_960) => {
                    if is_960 && !self.is_chess960 {
                        return Err(self.fault(&format!(
                            "word {word:#06x}: castling of Chess960 in a game of the usual start"
                        )));
                    }
                    self.castle(word, color, side)?;
                }
                Word::Null => self.null()?,
                Word::End => match self.outstanding.pop() {
                    Some((branch, ply)) => {
                        self.line.resume(branch);
                        self.last = ply;
                    }
                    None => return Ok(self.surplus()),
                },
                Word::Alternative => {
                    return Err(self.fault("an alternative to no move"));
                }
                Word::Unused => {
                    return Err(self.fault(&format!("word {word:#06x} is no move")));
                }
            }
            self.at += 1;
        }
    }

    fn surplus(&self) -> Option<Malformed> {
        let end = 2 * (self.at + 1);
        let left = self.words.bytes.len().saturating_sub(end);
        let what = || format!("{left} bytes after the end of the last line");
        (left > 0).then(|| Malformed::new(end, what()))
    }

    /// Returns the last move, in PGN order, before which none is missing: the
    /// first with a pending alternative, or else the last decoded one.
    fn known_to(&self) -> PlyId {
        let first = self.outstanding.first();
        first.map_or(self.last, |(_, ply)| *ply)
    }

    fn castle(&mut self, word: u16, color: Color, side: CastlingSide) -> Result<(), Malformed> {
        self.play(word, color, |line| line.position().castling_move(side))
    }

    #[inline]
    fn play(
        &mut self,
        word: u16,
        color: Color,
        m: impl Fn(&TreeBuilder<'_>) -> Option<Move>,
    ) -> Result<(), Malformed> {
        let branch = self.branch_if_marked()?;
        let is_turn = self.line.position().turn() == color;
        let m = m(&self.line).filter(|_| is_turn);
        if m.and_then(|m| self.line.play(m).ok()).is_none() {
            let what = format!("word {word:#06x} is no legal move here");
            return Err(self.fault(&what));
        }
        self.note(branch);
        Ok(())
    }

    fn null(&mut self) -> Result<(), Malformed> {
        let branch = self.branch_if_marked()?;
        self.line.play_null();
        self.note(branch);
        Ok(())
    }

    /// Returns the branch before the next move, if it has an alternative.
    #[inline]
    fn branch_if_marked(&mut self) -> Result<Option<Branch>, Malformed> {
        if self.line.is_full() {
            return Err(self.fault("more moves than cbfs reads of a game"));
        }
        if self.words.get(self.at + 1) != Some(words::ALTERNATIVE) {
            return Ok(None);
        }
        if self.outstanding.len() == MAX_OUTSTANDING {
            return Err(self.fault("more alternatives than cbfs reads"));
        }
        Ok(Some(self.line.branch()))
    }

    /// Notes the move just played. If it has an alternative, stores the branch
    /// before it and skips the mark.
    #[inline]
    fn note(&mut self, branch: Option<Branch>) {
        self.last = self.line.at();
        if let Some(branch) = branch {
            self.outstanding.push((branch, self.line.at()));
            self.at += 1;
        }
    }

    #[cold]
    fn fault(&self, what: &str) -> Malformed {
        let plies = self.line.at().index();
        let what = match plies {
            0 => what.to_owned(),
            _ => format!("{what} (after move {plies} as stored)"),
        };
        Malformed::new(2 * self.at, what)
    }
}

/// The next step of a traversal.
enum Next {
    /// The continuation of a move.
    After(PlyId),
    /// An alternative to a move.
    Alternative(PlyId),
}

/// Returns the moves of a game in PGN order: an alternative, with its
/// continuation, comes behind the move it replaces.
pub(super) fn pgn_order(tree: &MoveTree) -> Vec<PlyId> {
    let mut order = Vec::with_capacity(tree.len());
    let mut todo = vec![Next::After(PlyId::START)];
    while let Some(next) = todo.pop() {
        match next {
            Next::After(ply) => {
                let Some(main) = tree.first_child(ply) else {
                    continue;
                };
                order.push(main);
                todo.push(Next::After(main));
                todo.extend(tree.next_sibling(main).map(Next::Alternative));
            }
            Next::Alternative(ply) => {
                order.push(ply);
                todo.extend(tree.next_sibling(ply).map(Next::Alternative));
                todo.push(Next::After(ply));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(tag: u16, words: &[u16]) -> (Game, Vec<String>) {
        let content: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (mut game, mut faults) = (Game::default(), Vec::new());
        decode(tag, &content, &mut game, &mut faults);
        let faults = faults.into_iter().map(|fault| fault.what);
        (game, faults.collect())
    }

    #[test]
    fn truncated_moves_report_the_intact_prefix() {
        const ALT: u16 = words::ALTERNATIVE;
        let known = |stored: &[u16]| {
            let content: Vec<u8> = stored.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut game = Game::default();
            let known = decode(frame::GAME, &content, &mut game, &mut Vec::new());
            known.map(PlyId::index)
        };
        let moves = words::MOVES;
        assert_eq!(known(&[moves, E4, E5, words::END]), None);
        assert_eq!(known(&[moves, E4, E5]), Some(2));
        assert_eq!(known(&[moves, E4, E5, ALT, NF3, NC6]), Some(2));
        assert_eq!(known(&[moves, E4, E5, ALT, NF3, words::END, NC6]), Some(4));
        assert_eq!(known(&[moves, E4, ALT, E5, NF3, words::END, NC6]), Some(1));
        assert_eq!(known(&[E4]), Some(0));
    }

    fn sans(game: &Game, order: impl IntoIterator<Item = PlyId>) -> String {
        let san = |ply| game.tree.ply(ply).unwrap().san.to_string();
        order.into_iter().map(san).collect::<Vec<_>>().join(" ")
    }

    const E4: u16 = 0xad3f;
    const E5: u16 = 0xb02d;
    const NF3: u16 = 0x325f;
    const NC6: u16 = 0x836b;

    #[test]
    fn games_that_chessbase_wrote_are_read() {
        // source: records of the base "probe", quoted in the notes of the
        // descriptions.
        let bc5 = [words::MOVES, E4, E5, NF3, NC6, 0x3c61, 0x93eb, words::END];
        let (game, faults) = read_words(frame::GAME, &bc5);
        assert_eq!(sans(&game, game.tree.main_line()), "e4 e5 Nf3 Nc6 Bc4 Bc5");
        assert!(faults.is_empty() && !game.start.is_set_up);
        let set_up = [
            words::START,
            1,
            0,
            0,
            0xc2dd,
            0xc183,
            0xc047,
            0xc2fb,
            0xc2d0,
            0xc301,
            0xc2d6,
            words::MOVES,
            0x0409,
            0xb03b,
            0xae38,
            0x9259,
            0x5329,
            words::END,
        ];
        let (game, faults) = read_words(frame::GAME, &set_up);
        assert_eq!(sans(&game, game.tree.main_line()), "Ke4 f1=B g8=R Bc4 Rg7");
        assert_eq!(faults, Vec::<String>::new());
        let chess960 = [words::START, 123, words::MOVES, 0xad40, 0xafcf, words::END];
        let (game, faults) = read_words(frame::CHESS960, &chess960);
        assert_eq!(sans(&game, game.tree.main_line()), "e3 d5");
        assert!(faults.is_empty() && game.start.is_chess960);
    }

    #[test]
    fn alternatives_come_after_the_line_and_are_counted_before_it() {
        const ALT: u16 = words::ALTERNATIVE;
        const END: u16 = words::END;
        let null = words::NULL;
        // 1.e4 e5 (1...Nc6 2.Nf3) (1...--) 2.Nf3 Nc6 (2...--) 3.--
        let stored = [
            words::MOVES,
            E4,
            E5,
            ALT,
            NF3,
            NC6,
            ALT,
            null,
            END,
            null,
            END,
            NC6,
            ALT,
            NF3,
            END,
            null,
            END,
        ];
        let (game, faults) = read_words(frame::GAME, &stored);
        assert_eq!(faults, Vec::<String>::new());
        assert_eq!(sans(&game, game.tree.main_line()), "e4 e5 Nf3 Nc6 --");
        let order = pgn_order(&game.tree);
        assert_eq!(sans(&game, order), "e4 e5 Nc6 Nf3 -- Nf3 Nc6 -- --");
    }

    #[test]
    fn an_illegal_move_ends_reading_and_is_reported() {
        const ALT: u16 = words::ALTERNATIVE;
        const END: u16 = words::END;
        let moves = words::MOVES;
        for (stored, plies, fault) in [
            (&[][..], 0, "no moves begin"),
            (&[E4, END], 0, "no moves begin"),
            (&[words::START, 1, 0, 0, 0xc02d], 0, "no moves begin"),
            (&[moves, E4], 1, "without an end mark (after move 1"),
            (&[moves, E4, ALT, E5, END], 2, "without an end mark"),
            (&[moves, E4, END, E5], 1, "2 bytes after the end"),
            (&[moves, ALT, END], 0, "an alternative to no move"),
            (&[moves, E4, ALT, ALT, END], 1, "an alternative to no move"),
            (&[moves, 0xfffe, END], 0, "word 0xfffe is no move"),
            (&[moves, 0, END], 0, "word 0x0000 is no move"),
            (&[moves, E5, END], 0, "no legal move"),
            (&[moves, E4, E4, END], 1, "no legal move"),
            (&[moves, 0xb12a, END], 0, "no legal move"),
            (&[moves, 0xba06, END], 0, "castling of Chess960"),
        ] {
            let (game, faults) = read_words(frame::GAME, stored);
            assert_eq!(game.tree.len(), plies, "{stored:x?}");
            assert!(faults.len() == 1 && faults[0].contains(fault), "{faults:?}");
        }
        // Half a word.
        let (mut game, mut faults) = (Game::default(), Vec::new());
        decode(
            frame::GAME,
            &[0xfc, 0xff, 0x3f, 0xad, 0xff],
            &mut game,
            &mut faults,
        );
        assert_eq!((game.tree.len(), faults.len()), (1, 1));
        assert!(!read_words(0x2000, &[moves, END]).1.is_empty());
    }
}
