//! A file beside a segment: for each of its games, which piece was ever on
//! which square, and which pieces were captured in which order.
//!
//! Terms about squares and material are about moments of a game, and a moment is
//! known only by its moves. These masks say of each game, by its main line, which
//! piece was ever on which square, and in which order pieces left the board. So
//! material is decided without the moves, and squares need those games only that
//! had each of the pieces on its square at some time.
//!
//! A file belongs to the one segment whose number it has; it is checked and believed
//! as that. Integers are little-endian; the file is one of [pages](crate::storage::PagedFile):
//!
//! | part | content |
//! |---|---|
//! | head | `cbfs masks 1\n`, number of the segment u64, number of blocks u32, place of the table u64 |
//! | blocks | of [`GAMES`] games each, from number 0 on |
//! | table | the place of each block u64 |
//!
//! A block:
//!
//! | piece | content |
//! |---|---|
//! | lengths | u16 for each row, then the length of the material u32 |
//! | rows | for each role, side and square: a bit for each game, or the games u16 if that is shorter |
//! | material | for each game: how many steps u8, 255 if that is not known, and the steps, two in a byte |
//!
//! A step is the role that left the board, pawns 0, and 8 more if it was Black's.
//! [`PROMOTED`] is followed by the role a pawn became, [`PROMOTED_TAKING`] by this and
//! the role that it took; these are one step of the game.

use std::io;

use shakmaty::{CastlingSide, Color, Move, Role, Square};

use super::damaged;
use crate::game::{Game, Placement, role_index};
use crate::search::game_set::GameSet;
use crate::search::term::{Material, Squares, Wanted};
use crate::storage::{Cursor, PageWriter, PagedFile};

const MAGIC: &[u8] = b"cbfs masks 1\n";

/// Games of a block.
const GAMES: usize = 1 << 12;
const BLOCK: u32 = 1 << 12;
const ROW: usize = GAMES / 8;
const WORDS: usize = GAMES / 64;

/// Rows of a block: roles, sides, squares.
const ROWS: usize = 6 * 2 * 64;

const PROMOTED: u8 = 6;
const PROMOTED_TAKING: u8 = 7;
const BLACK: u8 = 8;

/// Count of steps that means unknown.
const UNKNOWN: u8 = u8::MAX;

/// Number of pieces of each side at the start, by role.
const START: [u8; 6] = [8, 2, 2, 2, 1, 1];

/// The row of a piece on a square.
fn row_of(role: Role, side: Color, square: Square) -> usize {
    (role_index(role) * 2 + usize::from(side.is_black())) * 64 + usize::from(square)
}

/// The mask of one game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mask {
    /// A bit for each row.
    rows: [u64; ROWS / 64],
    /// `None` if it did not begin with the usual pieces, or had too many steps.
    steps: Option<Vec<u8>>,
}

impl Mask {
    /// That of the main line.
    pub(super) fn of(game: &Game) -> Mask {
        let mut placement = Placement::of(&game.start.position);
        let sides = [Color::White, Color::Black];
        let is_usual = sides.iter().all(|side| placement.counts(*side) == START);
        let mut mask = Mask {
            rows: [0; ROWS / 64],
            steps: is_usual.then(Vec::new),
        };
        for (roles, role) in placement.roles.iter().zip(Role::ALL) {
            for side in sides {
                for square in *roles & placement.side(side) {
                    mask.stand(role, side, square);
                }
            }
        }
        for id in game.tree.main_line() {
            let Some(m) = game.tree.ply(id).and_then(|ply| ply.mv) else {
                placement.play(None);
                continue;
            };
            mask.play(m, placement.turn);
            placement.play(Some(m));
        }
        let is_long = |steps: &Vec<u8>| steps.len() >= usize::from(UNKNOWN);
        mask.steps = mask.steps.filter(|steps| !is_long(steps));
        mask
    }

    fn stand(&mut self, role: Role, side: Color, square: Square) {
        let row = row_of(role, side, square);
        if let Some(word) = self.rows.get_mut(row / 64) {
            *word |= 1 << (row % 64);
        }
    }

    fn play(&mut self, m: Move, us: Color) {
        match m {
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_king_side(king < rook);
                let to = |file| Square::from_coords(file, king.rank());
                self.stand(Role::King, us, to(side.king_to_file()));
                self.stand(Role::Rook, us, to(side.rook_to_file()));
            }
            _ => self.stand(m.promotion().unwrap_or(m.role()), us, m.to()),
        }
        let side = |side: Color| if side.is_black() { BLACK } else { 0 };
        let code = |role: Role| u8::try_from(role_index(role)).unwrap_or(0);
        let Some(steps) = &mut self.steps else {
            return;
        };
        match (m.capture(), m.promotion()) {
            (None, None) => {}
            (Some(taken), None) => steps.push(code(taken) | side(!us)),
            (None, Some(role)) => steps.extend([PROMOTED | side(us), code(role)]),
            (Some(taken), Some(role)) => {
                steps.extend([PROMOTED_TAKING | side(us), code(role), code(taken)]);
            }
        }
    }
}

/// Whether a game that took these steps had this material at some moment, which
/// so many captures lead to at least.
fn had(material: &Material, least: usize, mut steps: impl Iterator<Item = u8>) -> bool {
    let mut counts = [START; 2];
    for taken in 0_usize.. {
        // A step captures one piece, or none.
        if taken >= least && material.is_that(counts) {
            return true;
        }
        let Some(step) = steps.next() else {
            return false;
        };
        let us = usize::from(step & BLACK != 0);
        let mut change = |side: usize, role: u8, by: i8| {
            let count = counts.get_mut(side);
            if let Some(count) = count.and_then(|roles| roles.get_mut(usize::from(role))) {
                *count = count.saturating_add_signed(by);
            }
        };
        match step & !BLACK {
            PROMOTED | PROMOTED_TAKING => {
                change(us, 0, -1);
                change(us, steps.next().unwrap_or(0), 1);
                if step & !BLACK == PROMOTED_TAKING {
                    change(1 - us, steps.next().unwrap_or(0), -1);
                }
            }
            role => change(us, role, -1),
        }
    }
    false
}

/// The games of a block in the making.
#[derive(Debug)]
struct MaskBlock {
    rows: Vec<[u64; WORDS]>,
    /// For each game, its number of steps and they, two in a byte.
    material: Vec<Vec<u8>>,
}

impl MaskBlock {
    fn new() -> MaskBlock {
        MaskBlock {
            rows: vec![[0; WORDS]; ROWS],
            material: vec![Vec::new(); GAMES],
        }
    }

    fn add(&mut self, game: usize, mask: &Mask) {
        for (word, numbers) in mask.rows.iter().zip((0..).step_by(64)) {
            let mut rest = *word;
            while rest != 0 {
                let row = numbers + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let bits = self.rows.get_mut(row);
                if let Some(bits) = bits.and_then(|bits| bits.get_mut(game / 64)) {
                    *bits |= 1 << (game % 64);
                }
            }
        }
        if let Some(own) = self.material.get_mut(game) {
            *own = packed(mask.steps.as_deref());
        }
    }

    fn append_to(&self, bytes: &mut Vec<u8>) {
        let mut rows = Vec::new();
        for row in &self.rows {
            let count: u32 = row.iter().map(|word| word.count_ones()).sum();
            let start = rows.len();
            if count as usize * 2 < ROW {
                for (word, first) in row.iter().zip((0_u16..).step_by(64)) {
                    let mut rest = *word;
                    while rest != 0 {
                        let bit = u16::try_from(rest.trailing_zeros()).unwrap_or(0);
                        rows.extend((first + bit).to_le_bytes());
                        rest &= rest - 1;
                    }
                }
            } else {
                rows.extend(row.iter().flat_map(|word| word.to_le_bytes()));
            }
            let length = u16::try_from(rows.len() - start).unwrap_or(0);
            bytes.extend(length.to_le_bytes());
        }
        let material: usize = self.material.iter().map(|own| own.len().max(1)).sum();
        let material = u32::try_from(material).unwrap_or(0);
        bytes.extend(material.to_le_bytes());
        bytes.append(&mut rows);
        for own in &self.material {
            if own.is_empty() {
                bytes.push(0);
            }
            bytes.extend(own);
        }
    }
}

/// How many steps there are, and they.
fn packed(steps: Option<&[u8]>) -> Vec<u8> {
    let Some(steps) = steps else {
        return vec![UNKNOWN];
    };
    let mut bytes = vec![u8::try_from(steps.len()).unwrap_or(UNKNOWN)];
    let pairs = steps.chunks(2);
    bytes.extend(pairs.map(|pair| match pair {
        [one, two] => one | two << 4,
        [one] => *one,
        _ => 0,
    }));
    bytes
}

/// Bytes of as many steps.
fn packed_len(count: u8) -> usize {
    if count == UNKNOWN {
        0
    } else {
        usize::from(count).div_ceil(2)
    }
}

/// Writes masks game by game.
#[derive(Debug)]
pub(super) struct MaskWriter<'f, 'o> {
    pages: PageWriter<'f>,
    /// Where masks of games come from that are as they were.
    old: Option<&'o Masks>,
    block: MaskBlock,
    /// Its games that come from there.
    same: [u64; WORDS],
    number: u32,
    places: Vec<u64>,
}

impl<'f, 'o> MaskWriter<'f, 'o> {
    pub(super) fn new(pages: PageWriter<'f>, old: Option<&'o Masks>) -> MaskWriter<'f, 'o> {
        MaskWriter {
            pages,
            old,
            block: MaskBlock::new(),
            same: [0; WORDS],
            number: 0,
            places: Vec::new(),
        }
    }

    /// Adds a game with a higher number than the last one; without a mask, it has that
    /// of the older file.
    pub(super) fn add(&mut self, game: u32, mask: Option<&Mask>) -> io::Result<()> {
        while game / BLOCK > self.number {
            self.end_block()?;
        }
        let at = game as usize % GAMES;
        if let Some(mask) = mask {
            self.block.add(at, mask);
        } else if let Some(word) = self.same.get_mut(at / 64) {
            *word |= 1 << (at % 64);
        }
        Ok(())
    }

    fn end_block(&mut self) -> io::Result<()> {
        if let Some(old) = self.old {
            old.take_over(self.number, &self.same, &mut self.block)?;
        }
        let mut bytes = Vec::new();
        self.block.append_to(&mut bytes);
        self.places.push(self.pages.position());
        self.pages.write(&bytes)?;
        (self.block, self.same) = (MaskBlock::new(), [0; WORDS]);
        self.number += 1;
        Ok(())
    }

    /// Ends the file of the segment with this number; its head, and how many pages
    /// it has.
    pub(super) fn end(mut self, segment: u64) -> io::Result<(Vec<u8>, u64)> {
        self.end_block()?;
        let mut head = MAGIC.to_vec();
        head.extend(segment.to_le_bytes());
        head.extend(self.number.to_le_bytes());
        head.extend(self.pages.position().to_le_bytes());
        for place in &self.places {
            self.pages.write(&place.to_le_bytes())?;
        }
        Ok((head, self.pages.end()?))
    }
}

/// A file of masks.
#[derive(Debug)]
pub(in crate::search) struct Masks {
    pages: PagedFile,
    places: Vec<u64>,
}

/// Answer of the masks: games that fit, and games for which they cannot tell.
#[derive(Debug, Default)]
pub(in crate::search) struct MaskAnswer {
    pub(in crate::search) fitting: GameSet,
    pub(in crate::search) open: GameSet,
}

impl Masks {
    /// Those of the segment with this number, whose last game is `last`.
    pub(super) fn read(pages: PagedFile, segment: u64, last: u32) -> io::Result<Masks> {
        let rest = pages.head().strip_prefix(MAGIC);
        let parts = rest.and_then(|rest| {
            let (own, rest) = rest.split_first_chunk()?;
            let (count, rest) = rest.split_first_chunk()?;
            let (table, _) = rest.split_first_chunk()?;
            let own = u64::from_le_bytes(*own) == segment;
            own.then(|| (u32::from_le_bytes(*count), u64::from_le_bytes(*table)))
        });
        let (count, table) = parts.ok_or_else(|| damaged("it is of another index"))?;
        if count > last / BLOCK + 1 {
            return Err(damaged("it has more games than its index"));
        }
        let mut cursor = pages.cursor(table);
        let places = (0..count).map(|_| cursor.integer::<8>());
        let places = places.collect::<io::Result<_>>()?;
        Ok(Masks { pages, places })
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        self.pages.bytes()
    }

    /// Returns the answer for conditions of which one must be met; `None` if
    /// the masks do not help.
    pub(in crate::search) fn ask(&self, wanted: &[Wanted]) -> io::Result<Option<MaskAnswer>> {
        let mut said = MaskAnswer::default();
        for one in wanted {
            match one {
                Wanted::Squares(squares) => {
                    let rows = rows_of(squares);
                    if rows.is_empty() {
                        return Ok(None);
                    }
                    self.add_games_on(&rows, &mut said.open)?;
                }
                Wanted::Material(material) => self.add_games_with(material, &mut said)?,
                Wanted::Position(_) => return Ok(None),
            }
        }
        Ok(Some(said))
    }

    fn blocks(&self) -> impl Iterator<Item = (u32, &u64)> {
        (0_u32..).step_by(GAMES).zip(&self.places)
    }

    /// Adds the games that had these pieces on these squares at some time.
    fn add_games_on(&self, rows: &[usize], games: &mut GameSet) -> io::Result<()> {
        let mut cursor = self.pages.cursor(0);
        for (first, place) in self.blocks() {
            let shape = BlockShape::read(*place, &mut cursor)?;
            let mut all = [u64::MAX; WORDS];
            for row in rows {
                let row = shape.row(*row, &mut cursor)?;
                for (all, word) in all.iter_mut().zip(row) {
                    *all &= word;
                }
            }
            for (mut word, from) in all.into_iter().zip((first..).step_by(64)) {
                while word != 0 {
                    games.add(from + word.trailing_zeros());
                    word &= word - 1;
                }
            }
        }
        Ok(())
    }

    /// Adds the games that had this material.
    fn add_games_with(&self, material: &Material, said: &mut MaskAnswer) -> io::Result<()> {
        let mut cursor = self.pages.cursor(0);
        let least = material.least_captures();
        for (first, place) in self.blocks() {
            let bytes = BlockShape::read(*place, &mut cursor)?.material(&mut cursor)?;
            let mut rest = bytes.as_slice();
            for game in (first..).take(GAMES) {
                let Some((count, after)) = rest.split_first() else {
                    return Err(damaged("the material of a game is missing"));
                };
                let steps = after.get(..packed_len(*count));
                let steps = steps.ok_or_else(|| damaged("the material of a game is cut"))?;
                rest = after.get(steps.len()..).unwrap_or_default();
                if *count == UNKNOWN {
                    said.open.add(game);
                } else if usize::from(*count) >= least {
                    let nibbles = steps.iter().flat_map(|byte| [byte & 15, byte >> 4]);
                    if had(material, least, nibbles.take(usize::from(*count))) {
                        said.fitting.add(game);
                    }
                }
            }
        }
        Ok(())
    }

    /// Puts some games of a block into another.
    fn take_over(&self, number: u32, same: &[u64; WORDS], block: &mut MaskBlock) -> io::Result<()> {
        let Some(place) = self.places.get(number as usize) else {
            return Ok(());
        };
        let mut cursor = self.pages.cursor(0);
        let shape = BlockShape::read(*place, &mut cursor)?;
        for (number, new) in block.rows.iter_mut().enumerate() {
            let old = shape.row(number, &mut cursor)?;
            for ((new, old), same) in new.iter_mut().zip(old).zip(same) {
                *new |= old & same;
            }
        }
        let bytes = shape.material(&mut cursor)?;
        let mut rest = bytes.as_slice();
        for (game, new) in block.material.iter_mut().enumerate() {
            let length = 1 + rest.first().map_or(0, |count| packed_len(*count));
            let own = rest.get(..length);
            let own = own.ok_or_else(|| damaged("the material of a game is cut"))?;
            let word = same.get(game / 64).copied().unwrap_or(0);
            if word >> (game % 64) & 1 != 0 {
                *new = own.to_vec();
            }
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(())
    }
}

/// The rows that have all pieces of these squares.
fn rows_of(squares: &Squares) -> Vec<usize> {
    let mut rows = Vec::new();
    for (wanted, role) in squares.roles.iter().zip(Role::ALL) {
        for (own, side) in squares.sides.iter().zip([Color::White, Color::Black]) {
            let both = *wanted & *own;
            rows.extend(both.into_iter().map(|square| row_of(role, side, square)));
        }
    }
    rows
}

/// Where the pieces of a block are.
struct BlockShape {
    /// The place of each row, and of the material behind them.
    rows: Vec<u64>,
    material: usize,
}

impl BlockShape {
    fn read(place: u64, cursor: &mut Cursor<'_>) -> io::Result<BlockShape> {
        const LENGTHS: usize = ROWS * 2 + 4;
        cursor.seek(place);
        let mut lengths = [0; LENGTHS];
        cursor.read(&mut lengths)?;
        let (of_rows, material) = lengths.split_last_chunk().unwrap_or((&[], &[0; 4]));
        let mut next = place.saturating_add(LENGTHS as u64);
        let mut rows = vec![next];
        for length in of_rows.as_chunks().0 {
            next = next.saturating_add(u16::from_le_bytes(*length).into());
            rows.push(next);
        }
        let material = u32::from_le_bytes(*material) as usize;
        if material > GAMES * 256 {
            return Err(damaged("the material of a block is too long"));
        }
        Ok(BlockShape { rows, material })
    }

    fn row(&self, number: usize, cursor: &mut Cursor<'_>) -> io::Result<[u64; WORDS]> {
        let Some([from, to]) = self
            .rows
            .get(number..number + 2)
            .and_then(<[u64]>::first_chunk)
        else {
            return Err(damaged("a row is missing"));
        };
        let length = usize::try_from(to - from).unwrap_or(usize::MAX);
        let mut bytes = [0; ROW];
        let own = bytes
            .get_mut(..length)
            .ok_or_else(|| damaged("a row is too long"))?;
        cursor.seek(*from);
        cursor.read(own)?;
        let mut row = [0; WORDS];
        if length == ROW {
            for (word, bytes) in row.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            return Ok(row);
        }
        for game in own.as_chunks().0 {
            let game = usize::from(u16::from_le_bytes(*game));
            let word = row.get_mut(game / 64);
            *word.ok_or_else(|| damaged("a row has a game of no block"))? |= 1 << (game % 64);
        }
        Ok(row)
    }

    fn material(&self, cursor: &mut Cursor<'_>) -> io::Result<Vec<u8>> {
        cursor.seek(self.rows.last().copied().unwrap_or(0));
        let mut bytes = vec![0; self.material];
        cursor.read(&mut bytes)?;
        Ok(bytes)
    }
}
