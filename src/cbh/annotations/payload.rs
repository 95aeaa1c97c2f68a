//! The payloads of the small kinds, both ways. [`decode`] and [`symbols`] give nothing for
//! a payload that [`encode`] would not give back byte for byte.

use shakmaty::{Color, Square};

use crate::bytes::{ByteReader, Malformed};
use crate::cbh::CodePage;
use crate::cbh::moves::{number, square};
use crate::game::{
    Annotation, Arrow, ColoredSquare, Evaluation, Phase, ProfilePoint, Stage, TimeSpent,
    VariationColor,
};

/// Number of points for which the payload of a profile has room.
pub(crate) const MOST_POINTS: usize = 16_380;

/// Answers of a training question, at most: their number is one byte.
pub(crate) const MOST_ANSWERS: usize = 255;

/// Returns which part of a remark does not fit into its payload.
pub(super) fn fault_of(annotation: &Annotation, page: CodePage) -> Option<&'static str> {
    let is_long = |text: &str| page.encode(text).len() > usize::from(u8::MAX);
    match annotation {
        Annotation::WebLink { url, caption } if is_long(url) || is_long(caption) => {
            Some("a web link has an address or caption of more than 255 bytes")
        }
        Annotation::Profile(points) if points.len() > MOST_POINTS => {
            Some("an evaluation profile has more than 16380 points")
        }
        Annotation::Training(training)
            if training.payload.is_empty() && training.answers.len() > MOST_ANSWERS =>
        {
            Some("a training question has more than 255 answers")
        }
        _ => None,
    }
}

/// The value of a payload of one of the small kinds; `None` for other kinds
/// and for unusual payloads.
pub(super) fn decode(kind: u8, payload: &[u8], page: CodePage) -> Option<Annotation> {
    let mut reader = ByteReader::new(payload);
    let value = decode_kind(kind, &mut reader, page).ok()??;
    reader.rest().is_empty().then_some(value)
}

fn decode_kind(
    kind: u8,
    reader: &mut ByteReader<'_>,
    page: CodePage,
) -> Result<Option<Annotation>, Malformed> {
    Ok(match kind {
        0x04 => list(reader, |reader| {
            let color = reader.u8()?;
            Ok(marked_square(reader.u8()?).map(|square| ColoredSquare { color, square }))
        })?
        .map(Annotation::Squares),
        0x05 => list(reader, |reader| {
            let [color, from, to] = reader.array()?;
            let ends = marked_square(from).zip(marked_square(to));
            Ok(ends.map(|(from, to)| Arrow { color, from, to }))
        })?
        .map(Annotation::Arrows),
        0x07 => {
            let [hours, minutes, seconds, extra] = reader.array()?;
            Some(Annotation::TimeSpent(TimeSpent {
                hours,
                minutes,
                seconds,
                extra,
            }))
        }
        0x14 => Some(Annotation::PawnStructure(reader.u8()?)),
        0x15 => {
            let number = reader.u8()?;
            marked_square(reader.u8()?).map(|square| Annotation::PiecePath(number, square))
        }
        0x16 => Some(Annotation::Clock(Color::White, reader.i32_be()?)),
        0x17 => Some(Annotation::Clock(Color::Black, reader.i32_be()?)),
        0x18 => phase(reader.u8()?).map(Annotation::Critical),
        0x1c => web_link(reader, page)?,
        0x20 => video(reader, page)?,
        0x21 => {
            let mut number = || Ok(reader.u16_le()?.cast_signed());
            Some(Annotation::Evaluation(Evaluation {
                value: number()?,
                kind: number()?,
                depth: number()?,
            }))
        }
        0x22 => Some(Annotation::Medals(reader.u32_be()?)),
        0x23 => {
            let [flags, blue, green, red] = reader.array()?;
            let rgb = [red, green, blue];
            Some(Annotation::VariationColor(VariationColor { flags, rgb }))
        }
        0x24 => Some(Annotation::TimeControl([
            stage(reader)?,
            stage(reader)?,
            stage(reader)?,
        ])),
        0x25 => Some(Annotation::VideoTime(reader.i32_be()?)),
        0x26 => profile(reader)?,
        _ => None,
    })
}

/// The kind and payload of a remark of one of the small kinds.
pub(super) fn encode(annotation: &Annotation, page: CodePage) -> (u8, Vec<u8>) {
    match annotation {
        Annotation::Symbols(symbols) => {
            let used = symbols.iter().rposition(|&nag| nag != 0);
            let end = used.map_or(0, |last| last + 1);
            (0x03, symbols.get(..end).unwrap_or_default().to_vec())
        }
        Annotation::Squares(squares) => {
            let marked = |mark: &ColoredSquare| [mark.color, number(mark.square) + 1];
            (0x04, squares.iter().flat_map(marked).collect())
        }
        Annotation::Arrows(arrows) => {
            let marked = |arrow: &Arrow| {
                let [from, to] = [arrow.from, arrow.to].map(|square| number(square) + 1);
                [arrow.color, from, to]
            };
            (0x05, arrows.iter().flat_map(marked).collect())
        }
        Annotation::TimeSpent(time) => {
            let bytes = [time.hours, time.minutes, time.seconds, time.extra];
            (0x07, bytes.to_vec())
        }
        Annotation::PawnStructure(number) => (0x14, vec![*number]),
        Annotation::PiecePath(count, square) => (0x15, vec![*count, number(*square) + 1]),
        Annotation::Clock(color, time) => (color.fold_wb(0x16, 0x17), time.to_be_bytes().to_vec()),
        Annotation::Critical(phase) => (0x18, vec![*phase as u8 + 1]),
        Annotation::WebLink { url, caption } => (0x1c, encode_web_link(url, caption, page)),
        Annotation::Video { language, caption } => {
            let mut payload = vec![1, *language];
            payload.extend(page.encode(caption));
            (0x20, payload)
        }
        Annotation::Evaluation(evaluation) => {
            let numbers = [evaluation.value, evaluation.kind, evaluation.depth];
            (
                0x21,
                numbers.into_iter().flat_map(i16::to_le_bytes).collect(),
            )
        }
        Annotation::Medals(medals) => (0x22, medals.to_be_bytes().to_vec()),
        Annotation::VariationColor(VariationColor { flags, rgb }) => {
            let [red, green, blue] = *rgb;
            (0x23, vec![*flags, blue, green, red])
        }
        Annotation::TimeControl(stages) => (0x24, stages.iter().flat_map(encode_stage).collect()),
        Annotation::VideoTime(time) => (0x25, time.to_be_bytes().to_vec()),
        Annotation::Profile(points) => (0x26, encode_profile(points)),
        Annotation::TextAfter(_)
        | Annotation::TextBefore(_)
        | Annotation::Training(_)
        | Annotation::Quotation(_)
        | Annotation::Opaque { .. } => (0, Vec::new()),
    }
}

/// One to three NAGs, of which the last is one: that is how ChessBase writes
/// them.
#[inline]
pub(super) fn symbols(payload: &[u8]) -> Option<[u8; 3]> {
    let (symbols, last) = match *payload {
        [one] => ([one, 0, 0], one),
        [one, two] => ([one, two, 0], two),
        [one, two, three] => ([one, two, three], three),
        _ => return None,
    };
    (last != 0).then_some(symbols)
}

/// All items up to the end; `None` if there is none or one is no square.
fn list<T>(
    reader: &mut ByteReader<'_>,
    item: impl Fn(&mut ByteReader<'_>) -> Result<Option<T>, Malformed>,
) -> Result<Option<Vec<T>>, Malformed> {
    let mut items = Vec::new();
    while !reader.rest().is_empty() {
        match item(reader)? {
            Some(item) => items.push(item),
            None => return Ok(None),
        }
    }
    Ok(Some(items).filter(|items| !items.is_empty()))
}

/// The square of a number counted from 1.
fn marked_square(number: u8) -> Option<Square> {
    (1..=64).contains(&number).then(|| square(number - 1))
}

fn phase(number: u8) -> Option<Phase> {
    match number {
        1 => Some(Phase::Opening),
        2 => Some(Phase::Middlegame),
        3 => Some(Phase::Endgame),
        _ => None,
    }
}

/// Size of the payload (u16, little-endian), then URL and caption, each
/// after a byte that is its length.
fn web_link(reader: &mut ByteReader<'_>, page: CodePage) -> Result<Option<Annotation>, Malformed> {
    let size = reader.rest().len();
    let claimed = usize::from(reader.u16_le()?);
    let mut text = || {
        let length = usize::from(reader.u8()?);
        Ok(page.decode_exactly(reader.take(length)?))
    };
    let (url, caption) = (text()?, text()?);
    let link = url.zip(caption).filter(|_| claimed == size);
    Ok(link.map(|(url, caption)| Annotation::WebLink {
        url: url.into(),
        caption: caption.into(),
    }))
}

/// The texts of a web link that does not [fit](fault_of) end after 255 bytes.
fn encode_web_link(url: &str, caption: &str, page: CodePage) -> Vec<u8> {
    let mut payload = vec![0, 0];
    for text in [url, caption] {
        let mut bytes = page.encode(text);
        bytes.truncate(usize::from(u8::MAX));
        payload.push(u8::try_from(bytes.len()).unwrap_or(u8::MAX));
        payload.append(&mut bytes);
    }
    let size = u16::try_from(payload.len()).unwrap_or(u16::MAX);
    if let Some(place) = payload.first_chunk_mut() {
        *place = size.to_le_bytes();
    }
    payload
}

/// 1, the language, then the caption up to the end.
fn video(reader: &mut ByteReader<'_>, page: CodePage) -> Result<Option<Annotation>, Malformed> {
    let [one, language] = reader.array()?;
    let caption = page.decode_exactly(reader.take(reader.rest().len())?);
    let video = caption.filter(|_| one == 1);
    Ok(video.map(|caption| Annotation::Video { language, caption }))
}

fn stage(reader: &mut ByteReader<'_>) -> Result<Stage, Malformed> {
    Ok(Stage {
        time: reader.u32_be()?,
        increment: reader.u32_be()?,
        moves: reader.u16_be()?,
        kind: reader.u8()?,
    })
}

fn encode_stage(stage: &Stage) -> Vec<u8> {
    let mut bytes = stage.time.to_be_bytes().to_vec();
    bytes.extend(stage.increment.to_be_bytes());
    bytes.extend(stage.moves.to_be_bytes());
    bytes.push(stage.kind);
    bytes
}

/// Number of points (u16), then four bytes each: kind, depth, value (i16).
fn profile(reader: &mut ByteReader<'_>) -> Result<Option<Annotation>, Malformed> {
    let count = usize::from(reader.u16_be()?);
    if reader.rest().len() != 4 * count {
        return Ok(None);
    }
    let mut points = Vec::with_capacity(count);
    for _ in 0..count {
        points.push(ProfilePoint {
            kind: reader.u8()?,
            depth: reader.u8()?,
            value: reader.u16_be()?.cast_signed(),
        });
    }
    Ok(Some(Annotation::Profile(points)))
}

/// Of a profile that does not [fit](fault_of), the last points are left out.
fn encode_profile(points: &[ProfilePoint]) -> Vec<u8> {
    let points = points.get(..MOST_POINTS).unwrap_or(points);
    let count = u16::try_from(points.len()).unwrap_or(u16::MAX);
    let mut payload = count.to_be_bytes().to_vec();
    for point in points {
        payload.extend([point.kind, point.depth]);
        payload.extend(point.value.to_be_bytes());
    }
    payload
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Training;

    #[test]
    fn addresses_profiles_and_questions_have_a_longest() {
        let fault = |remark: &Annotation| fault_of(remark, CodePage::WESTERN);
        let link = |url: usize, caption: usize| Annotation::WebLink {
            url: "\u{fc}".repeat(url).into(),
            caption: "c".repeat(caption).into(),
        };
        assert_eq!(fault(&link(255, 255)), None);
        for long in [link(256, 0), link(0, 256)] {
            assert!(fault(&long).unwrap().contains("255 bytes"));
        }
        let point = ProfilePoint {
            kind: 0,
            depth: 20,
            value: -35,
        };
        let points = |count| Annotation::Profile(vec![point; count]);
        assert_eq!(fault(&points(MOST_POINTS)), None);
        assert!(fault(&points(MOST_POINTS + 1)).unwrap().contains("16380"));
        let question = |answers, payload: &[u8]| {
            Annotation::Training(Box::new(Training {
                payload: payload.to_vec(),
                ..Training::of_answers(answers)
            }))
        };
        assert_eq!(fault(&question(255, &[])), None);
        assert!(fault(&question(256, &[])).unwrap().contains("255 answers"));
        // One that goes as it is stored has room.
        assert_eq!(fault(&question(256, &[1])), None);
        assert_eq!(fault(&Annotation::Symbols([1, 0, 0])), None);
    }

    #[test]
    fn marked_squares_and_arrows_come_back_byte_for_byte() {
        let corners = [(0x04, &[2, 1, 3, 64][..]), (0x05, &[2, 1, 64, 4, 8, 57])];
        for (kind, payload) in corners {
            let value = decode(kind, payload, CodePage::WESTERN).unwrap();
            let again = encode(&value, CodePage::WESTERN);
            assert_eq!(again, (kind, payload.to_vec()));
        }
    }

    #[test]
    fn a_payload_of_a_small_kind_comes_back_byte_for_byte() {
        for (kind, payload) in [
            (0x07, &[1, 2, 3, 4][..]),
            (0x14, &[3]),
            (0x15, &[7, 1]),
            (0x16, &[0, 0, 1, 0x2c]),
            (0x17, &[0, 0, 1, 0x2c]),
            (0x18, &[1]),
            (0x1c, &[7, 0, 2, b'u', 0xfc, 1, b'c']),
            (0x21, &[0xdd, 0xff, 1, 0, 20, 0]),
            (0x22, &[0, 0, 0, 9]),
            (0x23, &[1, 2, 3, 4]),
            (0x24, &[7; 33]),
            (0x25, &[0, 0, 1, 0x2c]),
            (0x26, &[0, 1, 1, 20, 0xff, 0xdd]),
        ] {
            let value = decode(kind, payload, CodePage::WESTERN).unwrap();
            let (again, bytes) = encode(&value, CodePage::WESTERN);
            assert_eq!((again, bytes.as_slice()), (kind, payload));
            let longer = [payload, &[0]].concat();
            assert_eq!(decode(kind, &longer, CodePage::WESTERN), None, "{kind:#x}");
            let shorter = &payload[1..];
            assert_eq!(decode(kind, shorter, CodePage::WESTERN), None, "{kind:#x}");
        }
        assert_eq!(decode(0x15, &[7, 65], CodePage::WESTERN), None);
        let video = [1, 2, b'c', 0xfc];
        let value = decode(0x20, &video, CodePage::WESTERN).unwrap();
        assert_eq!(encode(&value, CodePage::WESTERN), (0x20, video.to_vec()));
        for other in [&[2, 2, b'c'][..], &[1]] {
            assert_eq!(decode(0x20, other, CodePage::WESTERN), None);
        }
    }

    #[test]
    fn a_critical_position_is_of_one_of_three_phases() {
        use Phase::{Endgame, Middlegame, Opening};
        for (number, phase) in [(1, Opening), (2, Middlegame), (3, Endgame)] {
            let remark = Annotation::Critical(phase);
            let page = CodePage::WESTERN;
            assert_eq!(encode(&remark, page), (0x18, vec![number]));
            assert_eq!(decode(0x18, &[number], page), Some(remark));
        }
        assert_eq!([phase(0), phase(4)], [None; 2]);
    }
}
