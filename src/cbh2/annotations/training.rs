//! Training questions.
//!
//! `01 01`, variant u8, three zeros; seconds i32, points u16; four lists:
//! question and three responses; number of solutions u8, the solutions.
//!
//! A list is a count u16, then each: kind u16, string. Kind 0 is a text, 7 are
//! arrows, 8 squares.
//!
//! A solution of variant 1: from u8, to u8 (from 0), 2 bytes of which the
//! second are points, list. Of variant 2: points u8, two lists, the answer in
//! words and the reply.
//!
//! A question is kept in the form of the older format, too, which has room for
//! texts only; other parts are dropped and reported.

use super::{ReadData, Remarks, string};
use crate::bytes::Malformed;
use crate::cbh::{CodePage, CommentText, encode_training};
use crate::cbh2::moves::square;
use crate::game::{Annotation, Answer, Training};

/// Texts of a list: number of the language, text.
type Texts = Vec<(u16, String)>;

/// A number above those of languages, for texts that are answers in words.
const IN_WORDS: u16 = 8;

/// Reads the data of a question.
pub(super) fn read(remarks: &mut Remarks<'_, '_>) -> Result<ReadData, Malformed> {
    let at = remarks.reader.position();
    let [_, _, variant, _, _, _] = remarks.reader.array()?;
    if !matches!(variant, 1 | 2) {
        return Ok(ReadData::Unknown);
    }
    // The older format has the same four bytes as two numbers.
    let [seconds, unknown, points] = [(); 3].map(|()| remarks.reader.u16_le());
    let mut training = Training {
        seconds: seconds?,
        unknown: unknown?,
        points: points?,
        ..Training::default()
    };
    let mut is_whole = true;
    for texts in &mut training.texts {
        *texts = list(remarks, &mut is_whole)?;
    }
    for _ in 0..remarks.reader.u8()? {
        if variant == 1 {
            let [from, to, unknown, points] = remarks.reader.array()?;
            let text = list(remarks, &mut is_whole)?;
            let [from, to] = [from, to].map(|number| square(number.into()));
            training.answers.push(Answer {
                from,
                to,
                unknown,
                points,
                text,
            });
        } else {
            remarks.reader.skip(1)?;
            is_whole = false;
            for _ in 0..2 {
                let texts = list(remarks, &mut is_whole)?;
                add_in_words(&mut training, texts);
            }
        }
    }
    if !is_whole {
        let what = "arrows, squares or answers in words of a training question, not shown as such";
        remarks.fault(at, what);
    }
    if !training.is_plain() {
        training.payload = encode_training(&training, CodePage::WESTERN);
    }
    Ok(ReadData::Value(Annotation::Training(Box::new(training))))
}

/// Adds answers in words to the texts of the question.
fn add_in_words(training: &mut Training, texts: Texts) {
    let [question, ..] = &mut training.texts;
    question.extend(texts.into_iter().map(|(_, text)| (IN_WORDS, text)));
}

fn list(remarks: &mut Remarks<'_, '_>, is_whole: &mut bool) -> Result<Texts, Malformed> {
    let mut texts = Texts::new();
    for _ in 0..remarks.reader.u16_le()? {
        let kind = remarks.reader.u16_le()?;
        let bytes = string(&mut remarks.reader)?;
        if kind == 0 {
            texts.push((kind, remarks.page.decode_comment(bytes)));
        } else {
            *is_whole = false;
        }
    }
    Ok(texts)
}
