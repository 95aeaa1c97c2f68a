//! Training questions, both ways. Little-endian.
//!
//! `01 00`, variant u8 (1), size of what follows from here u16, seconds u16,
//! u16, points u16; four text groups: question, remark on a wrong answer,
//! two hints; number of answers u8, then each: from u8, to u8 (from 0), u8,
//! points u8, text group.
//!
//! A text group is a number u16, then each text: language u16, length u16,
//! bytes.

use super::CommentText;
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::CodePage;
use crate::cbh::moves::{number, square};
use crate::game::{Answer, Training};

/// Bytes before the place from which the size counts.
const UNSIZED_BYTES: usize = 3;

/// A payload → its question; `None` for other variants and for payloads that
/// would not come back byte for byte.
pub(super) fn decode(payload: &[u8], page: CodePage) -> Option<Training> {
    let mut training = read(&mut ByteReader::new(payload), page).ok()?;
    if encode(&training, page) != payload {
        return None;
    }
    if !training.is_plain() {
        training.payload = payload.to_vec();
    }
    Some(training)
}

fn read(reader: &mut ByteReader<'_>, page: CodePage) -> Result<Training, Malformed> {
    reader.skip(UNSIZED_BYTES + 2)?;
    let mut training = Training {
        seconds: reader.u16_le()?,
        unknown: reader.u16_le()?,
        points: reader.u16_le()?,
        ..Training::default()
    };
    for group in &mut training.texts {
        *group = text_group(reader, page)?;
    }
    for _ in 0..reader.u8()? {
        let [from, to, unknown, points] = reader.array()?;
        training.answers.push(Answer {
            from: square(from),
            to: square(to),
            unknown,
            points,
            text: text_group(reader, page)?,
        });
    }
    Ok(training)
}

fn text_group(
    reader: &mut ByteReader<'_>,
    page: CodePage,
) -> Result<Vec<(u16, String)>, Malformed> {
    let mut texts = Vec::new();
    for _ in 0..reader.u16_le()? {
        let language = reader.u16_le()?;
        let length = usize::from(reader.u16_le()?);
        texts.push((language, page.decode_comment(reader.take(length)?)));
    }
    Ok(texts)
}

/// A question → its payload. Texts longer than 65 535 bytes end there.
pub(crate) fn encode(training: &Training, page: CodePage) -> Vec<u8> {
    let mut payload = vec![1, 0, 1, 0, 0];
    for number in [training.seconds, training.unknown, training.points] {
        payload.extend(number.to_le_bytes());
    }
    for group in &training.texts {
        encode_group(group, page, &mut payload);
    }
    payload.push(u8::try_from(training.answers.len()).unwrap_or(u8::MAX));
    for answer in training.answers.iter().take(usize::from(u8::MAX)) {
        let [from, to] = [answer.from, answer.to].map(number);
        payload.extend([from, to, answer.unknown, answer.points]);
        encode_group(&answer.text, page, &mut payload);
    }
    let size = u16::try_from(payload.len() - UNSIZED_BYTES).unwrap_or(u16::MAX);
    let sized = payload
        .get_mut(UNSIZED_BYTES..)
        .and_then(<[u8]>::first_chunk_mut);
    if let Some(place) = sized {
        *place = size.to_le_bytes();
    }
    payload
}

fn encode_group(texts: &[(u16, String)], page: CodePage, payload: &mut Vec<u8>) {
    let count = u16::try_from(texts.len()).unwrap_or(u16::MAX);
    payload.extend(count.to_le_bytes());
    for (language, text) in texts.iter().take(usize::from(u16::MAX)) {
        let mut bytes = page.encode_comment(text);
        bytes.truncate(usize::from(u16::MAX));
        let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        payload.extend(language.to_le_bytes());
        payload.extend(length.to_le_bytes());
        payload.append(&mut bytes);
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Square;

    use super::*;

    #[test]
    fn a_question_with_an_answer_comes_back_byte_for_byte() {
        // 180 s, 10 points, "Win?" in English, one answer d1-d5 of 10 points.
        let payload = [
            0x01, 0x00, 0x01, 0x1f, 0x00, 0xb4, 0x00, 0x00, 0x00, 0x0a, 0x00, 0x01, 0x00, 0x00,
            0x00, 0x04, 0x00, b'W', b'i', b'n', b'?', 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01,
            0x18, 0x1c, 0x00, 0x0a, 0x00, 0x00,
        ];
        let training = decode(&payload, CodePage::default()).unwrap();
        assert_eq!((training.seconds, training.points), (180, 10));
        assert_eq!(training.texts[0], [(0, "Win?".to_owned())]);
        let answer = &training.answers[0];
        assert_eq!(
            (answer.from, answer.to, answer.points),
            (Square::D1, Square::D5, 10)
        );
        assert_eq!(encode(&training, CodePage::default()), payload);
        assert_eq!(decode(&payload[..20], CodePage::default()), None);
    }
}
