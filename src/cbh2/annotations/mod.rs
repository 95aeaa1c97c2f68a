//! The content of a record of `.2cba`: remarks on the moves.
//!
//! Blocks, by ascending position: position i32, count i32, then so many
//! remarks, each a kind u16 and its data. `7fffffff` in place of a position is
//! the end. A position counts the moves in the order of PGN from 0; −1 is the
//! game as a whole.
//!
//! Only the kind of an annotation tells the length of its data. So an unknown
//! kind ends the readable part of a record.
//!
//! | kind | remark | data |
//! |---|---|---|
//! | 02, 82 | text after, before the move | u16 0, language u16, string |
//! | 03 | symbols | three NAGs |
//! | 04, 05 | squares, arrows | string of colour and squares, from 1 |
//! | 07 | time spent | u8, seconds, minutes, hours |
//! | 08, 27 | unknown | 4 bytes, 2 bytes |
//! | 09 | training question | [`training`] |
//! | 13 | game quotation | [`quotation`] |
//! | 14, 18 | pawn structure, critical position | u8 |
//! | 15 | piece path | string: u8, square from 1 |
//! | 16, 17 | White's and Black's clock | i32 |
//! | 1c | web link | u8 1, two strings |
//! | 20 | video | u8 1, u8 0, language u16, string |
//! | 21 | evaluation | value, kind and depth, i16 each |
//! | 22 | medals | u32 |
//! | 23 | colour of a variation | red, green, blue, flags |
//! | 24 | time control | u8 1, three stages of 11 bytes, i32 0 |
//! | 25 | time in a video stream | i32 |
//! | 26 | evaluation profile | u8 1, string: count u16, each value i16, depth, kind |
//!
//! Kinds are hexadecimal; a string is its length i32 and its bytes. Annotations
//! without a type of their own are kept as `.cba` would store them, with the
//! highest byte first.

mod places;
mod quotation;
mod training;

use places::RemarkPlaces;
use shakmaty::Color;

use super::moves::{pgn_order, square};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::{CodePage, CommentText};
use crate::game::{
    Annotation, AnnotationText, Arrow, ColoredSquare, Evaluation, Game, MAX_ANNOTATIONS, Nation,
    Phase, PlyId, ProfilePoint, Stage, TimeSpent, VariationColor,
};

/// Marker in place of a position at the end of the content.
const END: i32 = i32::MAX;

/// The position for the game as a whole.
const GAME: i32 = -1;

/// Content without annotations.
const NOTHING: [u8; 4] = END.to_le_bytes();

/// Language numbers of texts, each with the nation that represents it in a
/// game.
const LANGUAGES: [(u16, u8); 10] = [
    (0, 42),
    (1, 53),
    (2, 49),
    (3, 43),
    (4, 70),
    (5, 103),
    (6, 117),
    (7, 0),
    (12, 116),
    (18, 55),
];

/// Adds the annotations to `game`, whose moves must be decoded, and appends the
/// defects. If moves are missing, `known_to` is the last ply in PGN order whose
/// position is certain; annotations on later ones are dropped. Time and memory
/// are linear in the content.
pub(super) fn decode(
    content: &[u8],
    page: CodePage,
    known_to: Option<PlyId>,
    game: &mut Game,
    faults: &mut Vec<Malformed>,
) {
    if content == NOTHING {
        return;
    }
    let mut order = pgn_order(&game.tree);
    if let Some(last) = known_to {
        let known = order.iter().position(|ply| *ply == last);
        order.truncate(known.map_or(0, |at| at + 1));
    }
    let mut remarks = Remarks {
        reader: ByteReader::new(content),
        page,
        faults,
        count: 0,
    };
    let (mut lost, mut first_lost) = (0, 0);
    let mut places = RemarkPlaces::default();
    let read = remarks.read(&mut |position, at, kind, remark| {
        let index = usize::try_from(position).ok();
        match index.map(|index| order.get(index)) {
            None => places.add(PlyId::START, kind, remark),
            Some(Some(ply)) => places.add(*ply, kind, remark),
            Some(None) => {
                if lost == 0 {
                    first_lost = at;
                }
                lost += 1;
                if known_to.is_none() {
                    game.annotations.add_stray(position, remark);
                }
            }
        }
    });
    game.annotations.append(places.into_remarks());
    game.annotations.sort();
    faults.extend(read.err());
    if lost > 0 {
        let of = match known_to {
            None => "moves that the game does not have",
            Some(_) => "moves that could not be read",
        };
        let what = format!("annotations on {of}: {lost}");
        faults.push(Malformed::new(first_lost, what));
    }
}

/// Returns the bytes of all texts in a content, as far as it can be read.
pub(super) fn texts(content: &[u8]) -> Vec<&[u8]> {
    let mut reader = ByteReader::new(content);
    let mut texts = Vec::new();
    // Most texts are the first annotation of their move.
    while let Ok(position) = reader.i32_le()
        && position != END
        && reader.skip(4).is_ok()
        && matches!(reader.u16_le(), Ok(0x02 | 0x82))
        && reader.skip(4).is_ok()
    {
        match string(&mut reader) {
            Ok(text) => texts.push(text),
            Err(_) => break,
        }
    }
    texts
}

/// A reader of the annotations of a record.
struct Remarks<'a, 'f> {
    reader: ByteReader<'a>,
    page: CodePage,
    faults: &'f mut Vec<Malformed>,
    count: usize,
}

impl Remarks<'_, '_> {
    /// Calls `take` with each annotation: its position, its offset in the
    /// content, and its kind.
    fn read(&mut self, take: &mut dyn FnMut(i32, usize, u8, Annotation)) -> Result<(), Malformed> {
        let mut last = GAME - 1;
        loop {
            let at = self.reader.position();
            let position = self.reader.i32_le()?;
            if position == END {
                break;
            }
            if position <= last {
                let what = format!("annotations of move {position} after those of {last}");
                return Err(Malformed::new(at, what));
            }
            last = position;
            for _ in 0..self.reader.u32_le()? {
                self.next(position, take)?;
            }
        }
        match self.reader.rest().len() {
            0 => Ok(()),
            left => {
                let what = format!("{left} bytes after the end of the annotations");
                Err(Malformed::new(self.reader.position(), what))
            }
        }
    }

    fn next(
        &mut self,
        position: i32,
        take: &mut dyn FnMut(i32, usize, u8, Annotation),
    ) -> Result<(), Malformed> {
        let at = self.reader.position();
        let kind = self.reader.u16_le()?;
        self.count += 1;
        if self.count > MAX_ANNOTATIONS {
            return Err(Malformed::new(
                at,
                format!("more than {MAX_ANNOTATIONS} remarks"),
            ));
        }
        let left = self.reader.rest().len();
        match self.remark(kind)? {
            ReadData::Value(remark) => {
                // All kinds that are read have a number of eight bits.
                let kind = u8::try_from(kind).unwrap_or(u8::MAX);
                take(position, at, kind, remark);
            }
            ReadData::Damaged(what) => self.fault(at, what),
            ReadData::Unknown => {
                let what = format!(
                    "an annotation of kind {kind:#04x}, whose layout is not known: {left} bytes \
                     from here on cannot be shown"
                );
                // As good as the end.
                self.reader.skip(self.reader.rest().len())?;
                return Err(Malformed::new(at, what));
            }
        }
        Ok(())
    }

    fn fault(&mut self, at: usize, what: impl Into<String>) {
        self.faults.push(Malformed::new(at, what));
    }

    fn remark(&mut self, kind: u16) -> Result<ReadData, Malformed> {
        Ok(match kind {
            0x02 => ReadData::Value(self.text(Annotation::TextAfter)?),
            0x82 => ReadData::Value(self.text(Annotation::TextBefore)?),
            0x09 => training::read(self)?,
            0x13 => quotation::read(self)?,
            0x1c => {
                let one = self.reader.u8()?;
                let (url, caption) = (self.name()?, self.name()?);
                ReadData::known(one == 1, || Annotation::WebLink {
                    url: url.into(),
                    caption: caption.into(),
                })
            }
            0x20 => self.video()?,
            kind => small(kind, &mut self.reader)?,
        })
    }

    /// Reads a text; what is behind a zero byte is shown nowhere.
    fn text(&mut self, value: fn(AnnotationText) -> Annotation) -> Result<Annotation, Malformed> {
        let at = self.reader.position();
        let (lead, number) = (self.reader.u16_le()?, self.reader.u16_le()?);
        let bytes = string(&mut self.reader)?;
        let known = LANGUAGES.iter().find(|(of, _)| *of == number);
        if known.is_none() {
            let what = format!("a text in language {number}, which is not known; shown without");
            self.fault(at + 2, what);
        }
        let lead = self.in_one_byte(lead, "a text of an unknown form", at);
        let language = known.map_or(0, |(_, nation)| *nation);
        let shown = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(value(AnnotationText {
            lead,
            language: Nation(language),
            text: self.page.decode_comment(shown),
        }))
    }

    fn video(&mut self) -> Result<ReadData, Malformed> {
        let at = self.reader.position();
        let [one, _] = self.reader.array()?;
        let language = self.reader.u16_le()?;
        let language = self.in_one_byte(language, "a video in an unknown language", at);
        let caption = self.name()?;
        Ok(ReadData::known(one == 1, || Annotation::Video {
            language,
            caption,
        }))
    }

    /// A number for which a remark has one byte; `what` says why it has more.
    fn in_one_byte(&mut self, number: u16, what: &str, at: usize) -> u8 {
        u8::try_from(number).unwrap_or_else(|_| {
            self.fault(at, format!("{what}, {number}, shown as {}", u8::MAX));
            u8::MAX
        })
    }

    /// A string without chess signs.
    fn name(&mut self) -> Result<String, Malformed> {
        let mut name = String::new();
        self.page.decode_into(string(&mut self.reader)?, &mut name);
        Ok(name)
    }
}

/// The result of reading an annotation's data.
enum ReadData {
    Value(Annotation),
    /// The end is known, but the content is invalid, for this reason.
    Damaged(&'static str),
    /// The layout is unknown, so the end is unknown, too.
    Unknown,
}

impl ReadData {
    fn known(is_known: bool, value: impl FnOnce() -> Annotation) -> ReadData {
        if is_known {
            ReadData::Value(value())
        } else {
            ReadData::Unknown
        }
    }
}

/// Reads a string: its length i32, and its bytes.
fn string<'a>(reader: &mut ByteReader<'a>) -> Result<&'a [u8], Malformed> {
    let length = reader.u32_le()?;
    reader.take(length as usize)
}

/// Reads an annotation that consists of numbers.
fn small(kind: u16, reader: &mut ByteReader<'_>) -> Result<ReadData, Malformed> {
    let opaque = |kind, bytes: &[u8]| Annotation::Opaque {
        kind,
        payload: bytes.to_vec(),
    };
    let value = match kind {
        0x03 => match reader.array()? {
            [0, 0, 0] => opaque(0x03, &[]),
            symbols => Annotation::Symbols(symbols),
        },
        0x04 => return Ok(squares(string(reader)?)),
        0x05 => return Ok(arrows(string(reader)?)),
        0x07 => {
            let [extra, seconds, minutes, hours] = reader.array()?;
            Annotation::TimeSpent(TimeSpent {
                hours,
                minutes,
                seconds,
                extra,
            })
        }
        0x08 => opaque(0x08, &reader.u32_le()?.to_be_bytes()),
        0x14 => Annotation::PawnStructure(reader.u8()?),
        0x15 => match string(reader)? {
            &[number, at @ 1..=64] => Annotation::PiecePath(number, from_one(at)),
            other => opaque(0x15, other),
        },
        0x16 => Annotation::Clock(Color::White, reader.i32_le()?),
        0x17 => Annotation::Clock(Color::Black, reader.i32_le()?),
        0x18 => match reader.u8()? {
            1 => Annotation::Critical(Phase::Opening),
            2 => Annotation::Critical(Phase::Middlegame),
            3 => Annotation::Critical(Phase::Endgame),
            other => opaque(0x18, &[other]),
        },
        0x21 => {
            let mut number = || Ok(reader.u16_le()?.cast_signed());
            Annotation::Evaluation(Evaluation {
                value: number()?,
                kind: number()?,
                depth: number()?,
            })
        }
        0x22 => Annotation::Medals(reader.u32_le()?),
        0x23 => {
            let [red, green, blue, flags] = reader.array()?;
            let rgb = [red, green, blue];
            Annotation::VariationColor(VariationColor { flags, rgb })
        }
        0x24 => {
            let one = reader.u8()?;
            let stages = [stage(reader)?, stage(reader)?, stage(reader)?];
            let is_known = one == 1 && reader.u32_le()? == 0;
            return Ok(ReadData::known(is_known, || {
                Annotation::TimeControl(stages)
            }));
        }
        0x25 => Annotation::VideoTime(reader.i32_le()?),
        0x26 => {
            let one = reader.u8()?;
            let points = string(reader)?;
            let value = profile(points).unwrap_or_else(|| opaque(0x26, &older_profile(points)));
            return Ok(ReadData::known(one == 1, || value));
        }
        0x27 => opaque(0x27, &reader.u16_le()?.to_be_bytes()),
        _ => return Ok(ReadData::Unknown),
    };
    Ok(ReadData::Value(value))
}

/// Returns the square of a number from 1 to 64.
fn from_one(number: u8) -> shakmaty::Square {
    square(u16::from(number).saturating_sub(1))
}

fn squares(bytes: &[u8]) -> ReadData {
    let (marks, rest) = bytes.as_chunks();
    let mut squares = Vec::with_capacity(marks.len());
    for mark in marks {
        let &[color, at @ 1..=64] = mark else {
            return ReadData::Damaged("coloured squares beyond the board");
        };
        let square = from_one(at);
        squares.push(ColoredSquare { color, square });
    }
    if !rest.is_empty() {
        return ReadData::Damaged("coloured squares of an odd length");
    }
    ReadData::Value(unless_empty(0x04, squares, Annotation::Squares))
}

fn arrows(bytes: &[u8]) -> ReadData {
    let (marks, rest) = bytes.as_chunks();
    let mut arrows = Vec::with_capacity(marks.len());
    for mark in marks {
        let &[color, from @ 1..=64, to @ 1..=64] = mark else {
            return ReadData::Damaged("arrows beyond the board");
        };
        let (from, to) = (from_one(from), from_one(to));
        arrows.push(Arrow { color, from, to });
    }
    if !rest.is_empty() {
        return ReadData::Damaged("arrows that are no threes of bytes");
    }
    ReadData::Value(unless_empty(0x05, arrows, Annotation::Arrows))
}

/// The value of a list, or the stored form of one without items.
fn unless_empty<T>(kind: u8, list: Vec<T>, value: fn(Vec<T>) -> Annotation) -> Annotation {
    if list.is_empty() {
        let payload = Vec::new();
        return Annotation::Opaque { kind, payload };
    }
    value(list)
}

fn stage(reader: &mut ByteReader<'_>) -> Result<Stage, Malformed> {
    Ok(Stage {
        time: reader.u32_le()?,
        increment: reader.u32_le()?,
        moves: reader.u16_le()?,
        kind: reader.u8()?,
    })
}

fn profile(bytes: &[u8]) -> Option<Annotation> {
    let (count, rest) = bytes.split_first_chunk()?;
    let (points, rest) = rest.as_chunks();
    if !rest.is_empty() || points.len() != usize::from(u16::from_le_bytes(*count)) {
        return None;
    }
    let point = |&[low, high, depth, kind]: &[u8; 4]| ProfilePoint {
        kind,
        depth,
        value: i16::from_le_bytes([low, high]),
    };
    Some(Annotation::Profile(points.iter().map(point).collect()))
}

/// A profile whose number of points is wrong, as the older format stores it.
fn older_profile(bytes: &[u8]) -> Vec<u8> {
    let (count, rest) = bytes.split_at_checked(2).unwrap_or((bytes, &[]));
    let (points, rest) = rest.as_chunks();
    let points = points
        .iter()
        .flat_map(|&[low, high, depth, kind]| [kind, depth, high, low]);
    let count = count.iter().rev().copied();
    count.chain(points).chain(rest.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The remarks on the start and on no ply, and the faults.
    fn read(hex: &str) -> (Vec<(i32, Annotation)>, Vec<String>) {
        let content = data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap();
        let (mut game, mut faults) = (Game::default(), Vec::new());
        decode(&content, CodePage::WESTERN, None, &mut game, &mut faults);
        let of_game = game
            .annotations
            .iter()
            .map(|(_, remark)| (GAME, remark.clone()));
        let stray = game.annotations.stray();
        let stray = stray.map(|(position, remark)| (position, remark.clone()));
        let remarks = of_game.chain(stray).collect();
        (
            remarks,
            faults.into_iter().map(|fault| fault.what).collect(),
        )
    }

    /// One remark on the game, given by its kind and data.
    fn one(hex: &str) -> Annotation {
        let (remarks, faults) = read(&format!("ffffffff01000000{hex}ffffff7f"));
        assert_eq!(faults, Vec::<String>::new(), "{hex}");
        remarks.into_iter().next().unwrap().1
    }

    #[test]
    fn remarks_of_each_kind_are_read() {
        // source: tests of the descriptions' own programs.
        assert_eq!(
            one("070000050201"),
            Annotation::TimeSpent(TimeSpent {
                hours: 1,
                minutes: 2,
                seconds: 5,
                extra: 0
            })
        );
        assert_eq!(
            one("210088ff00001500"),
            Annotation::Evaluation(Evaluation {
                value: -120,
                kind: 0,
                depth: 21
            })
        );
        let Annotation::Profile(points) = one("2600010e000000030011000100f0ff1400000000ff") else {
            panic!("no profile");
        };
        assert_eq!(
            points[1],
            ProfilePoint {
                kind: 0,
                depth: 20,
                value: -16
            }
        );
        assert_eq!(points.len(), 3);
        assert!(matches!(
            one("26000103000000010009"),
            Annotation::Opaque { kind: 0x26, .. }
        ));
        let Annotation::TimeControl(stages) =
            one("240001603d0800b80b000028000120bf0200b80b0000e80303000000000000000000000000000000")
        else {
            panic!("no time control");
        };
        assert_eq!(
            stages[0],
            Stage {
                time: 540_000,
                increment: 3000,
                moves: 40,
                kind: 1
            }
        );
        let Annotation::TextAfter(text) = one("020000000000030000006193e9") else {
            panic!("no text");
        };
        assert_eq!((text.language, text.text.as_str()), (Nation(42), "a⊕é"));
        let red = VariationColor {
            flags: 1,
            rgb: [255, 0, 0],
        };
        assert_eq!(one("2300ff000001"), Annotation::VariationColor(red));
    }

    #[test]
    fn remarks_stand_on_their_moves_and_the_rest_on_none() {
        let mixed = "ffffffff010000000200000000000400000047616d650000000004000000030001128e04000400000002010440050003000000030d1d82000000010003000000566f72ffffff7f";
        let (remarks, faults) = read(mixed);
        assert_eq!(remarks.len(), 5);
        assert_eq!(remarks[1], (0, Annotation::Symbols([1, 18, 142])));
        assert_eq!(
            faults,
            ["annotations on moves that the game does not have: 4"]
        );
        assert_eq!(read("ffffff7f"), (Vec::new(), Vec::new()));
    }

    #[test]
    fn annotations_before_damage_are_shown() {
        // A text "kept", then one of kind 1a, which nobody knows.
        let unknown = "ffffffff03000000020000000000040000006b6570741a00010203020000000000040000006c6f7374ffffff7f";
        let (remarks, faults) = read(unknown);
        assert_eq!(remarks.len(), 1);
        assert!(
            faults[0].contains("kind 0x1a") && faults[0].contains("21 bytes"),
            "{faults:?}"
        );
        for (content, fault) in [
            ("ffffffff01000000020000000000030000006162", "expected"),
            (
                "ffffffff010000000400020000000200ffffff7f",
                "beyond the board",
            ),
            (
                "ffffffff010000000400020000000241ffffff7f",
                "beyond the board",
            ),
            ("ffffffff01000000040001000000", "expected"),
            ("ffffff7f00", "1 bytes after the end"),
            ("fffffffff0ffffff", "expected"),
            (
                "ffffffff00000000ffffffff00000000ffffff7f",
                "of move -1 after",
            ),
            ("ffff", "expected"),
        ] {
            let (_, faults) = read(content);
            assert_eq!(faults.len(), 1, "{content} {faults:?}");
            assert!(faults[0].contains(fault), "{content} {faults:?}");
        }
    }
}
