//! `.cba`: remarks on the moves. The file begins as `.cbg` does; then come
//! records, found by the offsets in `.cbh`. Big-endian unless a kind says
//! otherwise.
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 3 | game id; 0 in records of some other programs |
//! | 3 | 4 | `01 00 0e 0e` |
//! | 7 | 3 | number of remarks + 1 |
//! | 10 | 4 | size of the record, these 14 bytes included |
//! | 14 | … | remarks: position i24, kind u8, size u16 (these six included), payload |
//!
//! A position counts the plies in the order of the move stream from 0; -1 is
//! the game as a whole. The number of remarks and the game id are not
//! trusted: remarks follow each other until the record ends.
//!
//! | kind | remark | payload in |
//! |---|---|---|
//! | 02, 82 | text after, before the move | [`text`] |
//! | 03 | symbols | [`payload`] |
//! | 04, 05 | squares, arrows | [`payload`] |
//! | 07 | time spent | [`payload`] |
//! | 09 | training question | [`training`] |
//! | 13 | game quotation | [`quotation`] |
//! | 14, 15 | pawn structure, piece path | [`payload`] |
//! | 16, 17 | White's and Black's clock | [`payload`] |
//! | 18 | critical position | [`payload`] |
//! | 1c | web link | [`payload`] |
//! | 20 | video | [`payload`] |
//! | 21 | evaluation | [`payload`] |
//! | 22 | medals | [`payload`] |
//! | 23 | colour of a variation | [`payload`] |
//! | 24 | time control | [`payload`] |
//! | 25 | time in a video stream | [`payload`] |
//! | 26 | evaluation profile | [`payload`] |
//!
//! Numbers of kinds are hexadecimal. What another kind holds, or a payload
//! that its kind's encoder would not give back byte for byte, travels as it
//! is.
//!
//! To add a kind: a variant in `game/annotation.rs`, an arm each in
//! [`payload::decode`] and [`payload::encode`], its spelling in `pgn/command/mod.rs`, a row here.

mod edited;
mod payload;
mod quotation;
mod shape;
mod text;
mod training;

pub(super) use edited::{divide, encode_edited};
pub(crate) use payload::{MOST_ANSWERS, MOST_POINTS};
pub(crate) use quotation::{QuotedHeader, quoted_caption};
pub(super) use shape::Shape;
pub(crate) use text::CommentText;
pub(super) use text::shown_and_rest;
pub(crate) use training::encode as encode_training;

use super::CodePage;
use super::moves::EncodeError;
use crate::bytes::{ByteReader, Malformed};
use crate::game::{Annotation, Game, MAX_ANNOTATIONS};

/// Bytes before the first remark of a record.
pub(super) const HEAD_BYTES: usize = 14;

/// The position of the game as a whole.
const GAME: i32 = -1;

/// Kinds with places of their own, see [`RemarkKinds`].
const TEXT_AFTER: u8 = 0x02;
const TEXT_BEFORE: u8 = 0x82;
const SYMBOLS: u8 = 0x03;

/// Bytes before the payload of a remark.
const REMARK_HEAD_BYTES: usize = 6;

/// Bytes after the game id in a record.
const MARK: [u8; 4] = [0x01, 0x00, 0x0e, 0x0e];

/// A larger record is damage: the largest seen has 45 KB.
pub(super) const MAX_RECORD_BYTES: usize = 1 << 24;

/// The size of the record that begins with `head`.
///
/// # Errors
///
/// [`Malformed`] if the 14 bytes are not there or the size is impossible.
pub(super) fn record_size(head: &[u8]) -> Result<usize, Malformed> {
    let mut reader = ByteReader::new(head);
    reader.skip(10)?;
    let size = reader.u32_be()? as usize;
    if !(HEAD_BYTES..=MAX_RECORD_BYTES).contains(&size) {
        return Err(Malformed::new(
            10,
            format!("annotation record of {size} bytes"),
        ));
    }
    Ok(size)
}

/// One remark as stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredRemark<'a> {
    /// The ply, -1 for the game.
    pub(super) position: i32,
    /// Kind of the payload.
    pub(super) kind: u8,
    /// The remark itself.
    pub(super) payload: &'a [u8],
}

impl StoredRemark<'_> {
    /// Calls `take` with the value. That of the kinds which nearly all are is made where it
    /// is taken: to pass it on takes longer than to make it.
    #[expect(clippy::inline_always, reason = "for each remark of a game")]
    #[inline(always)]
    pub(super) fn decode(self, page: CodePage, take: impl FnOnce(Annotation)) {
        match self.kind {
            TEXT_AFTER => {
                if let Some(text) = text::decode(self.payload, page) {
                    return take(Annotation::TextAfter(text));
                }
            }
            TEXT_BEFORE => {
                if let Some(text) = text::decode(self.payload, page) {
                    return take(Annotation::TextBefore(text));
                }
            }
            SYMBOLS => {
                if let Some(symbols) = payload::symbols(self.payload) {
                    return take(Annotation::Symbols(symbols));
                }
            }
            _ => {}
        }
        take(self.rare_value(page).unwrap_or_else(|| self.as_stored()));
    }

    /// The value of a remark of another kind; `None` if it has none that says all.
    #[inline(never)]
    fn rare_value(self, page: CodePage) -> Option<Annotation> {
        match self.kind {
            0x09 => {
                let training = training::decode(self.payload, page)?;
                Some(Annotation::Training(Box::new(training)))
            }
            0x13 => {
                let quotation = quotation::decode(self.payload, page)?;
                Some(Annotation::Quotation(Box::new(quotation)))
            }
            _ => payload::decode(self.kind, self.payload, page),
        }
    }

    /// The remark as a value that says nothing but these bytes.
    #[cold]
    fn as_stored(&self) -> Annotation {
        Annotation::Opaque {
            kind: self.kind,
            payload: self.payload.to_vec(),
        }
    }
}

/// Gives the remarks of a record, in order, up to damage; more than a game may have
/// are damage. Of a record that says that it is longer no more than it counts: what
/// follows may be another record.
#[derive(Debug)]
pub(super) struct Remarks<'a> {
    record: &'a [u8],
    /// The rest of it.
    rest: &'a [u8],
    /// How many there can be besides.
    left: usize,
    is_counted: bool,
    /// The damage at which they ended.
    damage: Option<Malformed>,
}

/// The remarks of `record`.
pub(super) fn remarks(record: &[u8]) -> Remarks<'_> {
    let counted = counted_if_cut(record).filter(|count| *count <= MAX_ANNOTATIONS);
    Remarks {
        record,
        rest: record.get(HEAD_BYTES..).unwrap_or_default(),
        left: counted.unwrap_or(MAX_ANNOTATIONS),
        is_counted: counted.is_some(),
        damage: None,
    }
}

impl<'a> Iterator for Remarks<'a> {
    type Item = StoredRemark<'a>;

    #[expect(clippy::inline_always, reason = "for each remark of a game")]
    #[inline(always)]
    fn next(&mut self) -> Option<StoredRemark<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let next = split_remark(self.rest).zip(self.left.checked_sub(1));
        let Some(((remark, rest), left)) = next else {
            self.end();
            return None;
        };
        (self.rest, self.left) = (rest, left);
        Some(remark)
    }
}

impl Remarks<'_> {
    /// Ends where no remark follows, but something else.
    #[cold]
    fn end(&mut self) {
        let rest = std::mem::take(&mut self.rest);
        let left = rest.len();
        let size = rest.get(4..).and_then(<[u8]>::first_chunk);
        let what = match (self.left, size) {
            (0, _) if self.is_counted => return,
            (0, _) => format!("more than {MAX_ANNOTATIONS} remarks"),
            (_, None) => format!("{REMARK_HEAD_BYTES} bytes expected, {left} left"),
            (_, Some(size)) => {
                let size = u16::from_be_bytes(*size);
                format!("annotation of {size} bytes, {left} left")
            }
        };
        self.damage = Some(Malformed::new(self.record.len() - left, what));
    }
}

/// The first remark of these bytes, and what follows it.
#[expect(clippy::inline_always, reason = "for each remark of a game")]
#[inline(always)]
fn split_remark(bytes: &[u8]) -> Option<(StoredRemark<'_>, &[u8])> {
    let (&[a, b, c, kind, high, low], rest) = bytes.split_first_chunk::<REMARK_HEAD_BYTES>()?;
    let size = usize::from(u16::from_be_bytes([high, low]));
    let (payload, rest) = rest.split_at_checked(size.checked_sub(REMARK_HEAD_BYTES)?)?;
    let remark = StoredRemark {
        position: sign_extended(u32::from_be_bytes([0, a, b, c])),
        kind,
        payload,
    };
    Some((remark, rest))
}

/// How many remarks a record counts that ends before it says so.
fn counted_if_cut(record: &[u8]) -> Option<usize> {
    let size = record_size(record).ok()?;
    let mut reader = ByteReader::new(record);
    reader.skip(7).ok()?;
    let count = reader.u24_be().ok()?.saturating_sub(1);
    (size > record.len()).then_some(count as usize)
}

/// A three-byte number with its sign.
fn sign_extended(number: u32) -> i32 {
    (number << 8).cast_signed() >> 8
}

/// The bytes of texts in the first part of a `.cba` file, whose records lie
/// one after the other but for holes.
pub(super) fn sample_texts(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    let header = usize::from(ByteReader::new(file).u16_be().unwrap_or(0));
    let mut rest = file.get(header..).unwrap_or_default();
    let records = std::iter::from_fn(move || {
        let size = record_size(rest).ok()?;
        let (record, after) = rest.split_at(size.min(rest.len()));
        rest = after;
        Some(record)
    });
    records
        .flat_map(remarks)
        .filter(|remark| matches!(remark.kind, TEXT_AFTER | TEXT_BEFORE))
        .filter_map(|remark| remark.payload.get(2..))
}

/// Adds the remarks of `record` to `game`, whose moves must be decoded; those at
/// positions without a ply as stray ones. Gives the faults because of which the
/// game must not be written; after damage no more remarks are read. Unless
/// `is_whole`, positions without a ply are no fault of the record.
pub(super) fn decode(
    record: &[u8],
    page: CodePage,
    is_whole: bool,
    game: &mut Game,
) -> Vec<Malformed> {
    let shape = Shape::of(record, is_whole.then(|| game.tree.len()));
    if shape.is_sorted {
        let mut places = RemarkKinds::default();
        for remark in remarks(record) {
            let add = |value| add(remark.position, value, game);
            places.decode(remark, page, add);
        }
    } else {
        for (remark, value) in decoded(record, page) {
            add(remark.position, value, game);
        }
    }
    shape.losses()
}

#[expect(clippy::inline_always, reason = "where each kind of value is made")]
#[inline(always)]
fn add(position: i32, annotation: Annotation, game: &mut Game) {
    let index = usize::try_from(i64::from(position) + 1).ok();
    match index.and_then(|index| game.tree.place(index)) {
        Some(ply) => game.annotations.add(ply, annotation),
        None => game.annotations.add_stray(position, annotation),
    }
}

/// The remarks of a record up to damage, in order of their positions, those of
/// one position as stored; with the values that [`decode`] gives them.
pub(super) fn decoded(record: &[u8], page: CodePage) -> Vec<(StoredRemark<'_>, Annotation)> {
    let mut sorted: Vec<_> = remarks(record).collect();
    sorted.sort_by_key(|remark| remark.position);
    let mut places = RemarkKinds::default();
    let mut decoded = Vec::with_capacity(sorted.len());
    for remark in sorted {
        places.decode(remark, page, |value| decoded.push((remark, value)));
    }
    decoded
}

/// Which kinds of remarks a ply has, of remarks in order of their positions. A
/// second one of a kind, which no program writes, has no place in the values
/// of a game, nor have a text before the game and symbols on it: they travel
/// as they are stored. Texts of several languages are usual.
#[derive(Debug, Default)]
struct RemarkKinds {
    position: i32,
    taken: [u64; 4],
}

impl RemarkKinds {
    /// Calls `take` with the value of the next remark.
    #[inline]
    fn decode(&mut self, remark: StoredRemark<'_>, page: CodePage, take: impl FnOnce(Annotation)) {
        if self.take_place(&remark) {
            remark.decode(page, take);
        } else {
            take(remark.as_stored());
        }
    }

    /// Whether there is a place for this remark, which is taken then.
    #[inline]
    fn take_place(&mut self, remark: &StoredRemark<'_>) -> bool {
        let StoredRemark { position, kind, .. } = *remark;
        if self.position != position {
            *self = RemarkKinds {
                position,
                ..RemarkKinds::default()
            };
        }
        let (word, bit) = (usize::from(kind / 64), 1 << (kind % 64));
        let taken = self.taken.get_mut(word);
        let is_first = taken.is_none_or(|taken| std::mem::replace(taken, *taken | bit) & bit == 0);
        match kind {
            TEXT_AFTER => true,
            TEXT_BEFORE => position != GAME,
            SYMBOLS => is_first && position != GAME,
            _ => is_first,
        }
    }
}

/// A record of these remarks — position, kind, payload, in order — for game
/// `id`; `None` if there are none.
///
/// # Errors
///
/// [`EncodeError::RemarkTooLong`] if a payload is longer than its size can
/// tell, [`EncodeError::RemarksTooLong`] if the record is longer than any that
/// is read.
pub(super) fn encode(
    id: u32,
    remarks: &[(i32, u8, Vec<u8>)],
) -> Result<Option<Vec<u8>>, EncodeError> {
    if remarks.is_empty() {
        return Ok(None);
    }
    let u24 = |number: u32| number.to_be_bytes().into_iter().skip(1);
    let mut record = Vec::new();
    record.extend(u24(id));
    record.extend(MARK);
    record.extend(u24(u32::try_from(remarks.len() + 1).unwrap_or(u32::MAX)));
    record.extend([0; 4]);
    for (position, kind, payload) in remarks {
        let size = u16::try_from(REMARK_HEAD_BYTES + payload.len())
            .map_err(|_| EncodeError::RemarkTooLong(payload.len()))?;
        record.extend(u24(position.cast_unsigned()));
        record.push(*kind);
        record.extend(size.to_be_bytes());
        record.extend(payload);
    }
    let size = u32::try_from(record.len()).unwrap_or(u32::MAX);
    if record.len() > MAX_RECORD_BYTES {
        return Err(EncodeError::RemarksTooLong(record.len()));
    }
    if let Some(place) = record.get_mut(10..).and_then(<[u8]>::first_chunk_mut) {
        *place = size.to_be_bytes();
    }
    Ok(Some(record))
}

/// Returns whether a base can hold a remark as it is: its size has 16 bits,
/// and some of its parts are counted by less.
pub(crate) fn remark_fits(annotation: &Annotation, page: CodePage) -> bool {
    let (_, payload) = encode_remark(annotation, page);
    let has_room = payload::fault_of(annotation, page).is_none();
    has_room && u16::try_from(REMARK_HEAD_BYTES + payload.len()).is_ok()
}

/// Finds a remark of a game of which a part has no room where it is stored.
///
/// # Errors
///
/// [`EncodeError::NoRoom`].
pub(super) fn ensure_room(game: &Game, page: CodePage) -> Result<(), EncodeError> {
    let mut remarks = game.annotations.iter();
    match remarks.find_map(|(_, remark)| payload::fault_of(remark, page)) {
        Some(what) => Err(EncodeError::NoRoom(what)),
        None => Ok(()),
    }
}

/// The kind and payload of one remark. Texts are written in `page` if it has
/// all their characters, else in UTF-8.
pub(crate) fn encode_remark(annotation: &Annotation, page: CodePage) -> (u8, Vec<u8>) {
    match annotation {
        Annotation::TextAfter(text) => (TEXT_AFTER, text::encode(text, page)),
        Annotation::TextBefore(text) => (TEXT_BEFORE, text::encode(text, page)),
        Annotation::Training(training) if !training.payload.is_empty() => {
            (0x09, training.payload.clone())
        }
        Annotation::Training(training) => (0x09, training::encode(training, page)),
        Annotation::Quotation(quotation) => (0x13, quotation.payload.clone()),
        Annotation::Opaque { kind, payload } => (*kind, payload.clone()),
        other => payload::encode(other, page),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{AnnotationText, PlyId, TreeBuilder};

    #[test]
    fn remarks_end_at_damage_and_where_a_cut_record_counts_no_more() {
        let symbol = [0, 0, 5, SYMBOLS, 0, 7, 1];
        let record = |count: usize, size: usize, rest: &[u8]| {
            let head = [&[0, 0, 1][..], &MARK, &[0; 3], &[0; 4]].concat();
            let mut record = [&head[..], &symbol.repeat(count), rest].concat();
            let number = |number: usize| u32::try_from(number).unwrap().to_be_bytes();
            let size = number(record.len().max(size));
            record[7..10].copy_from_slice(&number(count + 1)[1..]);
            record[10..14].copy_from_slice(&size);
            record
        };
        let read = |record: &[u8]| {
            let mut read = remarks(record);
            let count = read.by_ref().count();
            (count, read.damage.map(|fault| fault.to_string()))
        };
        let told = |at: usize, what: &str| Some(Malformed::new(at, what).to_string());
        let end = HEAD_BYTES + 2 * symbol.len();
        for (rest, what) in [
            (&[0, 0, 6][..], "6 bytes expected, 3 left"),
            (&[0, 0, 6, 3, 0, 5, 1], "annotation of 5 bytes, 7 left"),
            (&[0, 0, 6, 3, 1, 0, 1], "annotation of 256 bytes, 7 left"),
        ] {
            assert_eq!(read(&record(2, 0, rest)), (2, told(end, what)));
        }
        assert_eq!(read(&record(2, 0, &[])), (2, None));
        assert_eq!([read(&[]), read(&[0; HEAD_BYTES])], [(0, None), (0, None)]);
        let most = MAX_ANNOTATIONS;
        let end = HEAD_BYTES + most * symbol.len();
        let too_many = told(end, &format!("more than {most} remarks"));
        assert_eq!(read(&record(most, 0, &[])), (most, None));
        assert_eq!(read(&record(most + 1, 0, &[])), (most, too_many));
        // It says that it is longer, and counts two: the third may be another record's.
        let mut cut = record(3, 1000, &[]);
        cut[9] = 3;
        assert_eq!(read(&cut), (2, None));
    }

    #[test]
    fn a_text_before_the_game_and_symbols_on_it_travel_as_they_are_stored() {
        let mut game = Game::default();
        let mut line = TreeBuilder::new(&mut game.tree, &game.start.position);
        let plies = [line.play_null(), line.play_null()];
        let text = AnnotationText {
            text: "word".to_owned(),
            ..AnnotationText::default()
        };
        let page = CodePage::default();
        let values = [
            Annotation::TextBefore(text.clone()),
            Annotation::Symbols([1, 0, 0]),
            Annotation::TextAfter(text),
        ];
        let stored = values.each_ref().map(|value| encode_remark(value, page));
        let remarks: Vec<_> = [-1, 1, 9]
            .into_iter()
            .flat_map(|at| {
                stored
                    .iter()
                    .map(move |(kind, payload)| (at, *kind, payload.clone()))
            })
            .collect();
        let record = encode(7, &remarks).unwrap().unwrap();
        assert_eq!(record_size(&record).unwrap(), record.len());
        assert_eq!(decode(&record, page, false, &mut game).len(), 0);
        let [before, symbols, after] = &values;
        let opaque = |of: usize| Annotation::Opaque {
            kind: stored[of].0,
            payload: stored[of].1.clone(),
        };
        let on_game: Vec<_> = game.annotations.on(PlyId::START).collect();
        assert_eq!(on_game, [&opaque(0), &opaque(1), after]);
        let on_ply: Vec<_> = game.annotations.on(plies[1]).collect();
        assert_eq!(on_ply, [before, symbols, after]);
        let stray: Vec<_> = game.annotations.stray().collect();
        assert_eq!(stray, [(9, before), (9, symbols), (9, after)]);
    }

    #[test]
    fn a_second_remark_of_a_kind_travels_as_it_is_stored() {
        let mut game = Game::default();
        let symbols = |nag| encode_remark(&Annotation::Symbols([nag, 0, 0]), CodePage::default());
        TreeBuilder::new(&mut game.tree, &game.start.position).play_null();
        let remarks = [symbols(1), symbols(2)].map(|(kind, payload)| (0, kind, payload));
        let record = encode(7, &remarks).unwrap().unwrap();
        decode(&record, CodePage::default(), true, &mut game);
        let found: Vec<_> = game.annotations.iter().map(|(_, value)| value).collect();
        let (kind, payload) = symbols(2);
        let second = Annotation::Opaque { kind, payload };
        assert_eq!(found, [&Annotation::Symbols([1, 0, 0]), &second]);
    }

    #[test]
    fn a_remark_fits_if_its_size_and_its_parts_do() {
        let most = usize::from(u16::MAX) - REMARK_HEAD_BYTES;
        let opaque = |size| Annotation::Opaque {
            kind: 0x77,
            payload: vec![0; size],
        };
        let link = |size| Annotation::WebLink {
            url: "u".repeat(size).into(),
            caption: String::new().into(),
        };
        for (remark, fits) in [
            (opaque(most), true),
            (opaque(most + 1), false),
            (link(255), true),
            (link(256), false),
        ] {
            assert_eq!(remark_fits(&remark, CodePage::WESTERN), fits);
        }
    }

    #[test]
    fn a_question_goes_as_it_is_stored_if_that_is_known() {
        let page = CodePage::default();
        let mut question = crate::game::Training {
            seconds: 180,
            ..Default::default()
        };
        let encoded = |question: &crate::game::Training| {
            encode_remark(&Annotation::Training(Box::new(question.clone())), page)
        };
        let written = encode_training(&question, page);
        assert_eq!(encoded(&question), (0x09, written));
        question.payload = vec![1, 2, 3];
        assert_eq!(encoded(&question), (0x09, vec![1, 2, 3]));
    }
}
