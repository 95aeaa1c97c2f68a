//! Training questions.

use shakmaty::Square;

use super::shown_in_quotes;

/// A training question with its answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Training {
    /// Time to think, in seconds.
    pub seconds: u16,
    /// Unknown; 0 in all known games.
    pub unknown: u16,
    /// Points for the right answer.
    pub points: u16,
    /// Question, reply to a wrong answer, first hint, second hint: each a list
    /// of texts with their languages.
    pub texts: [Vec<(u16, String)>; 4],
    /// The correct moves.
    pub answers: Vec<Answer>,
    /// The stored bytes, if they hold more than a [plain](Training::is_plain)
    /// question.
    pub payload: Vec<u8>,
}

impl Training {
    /// The question, hints and replies in each language, and the answers, as ChessBase's
    /// command shows them. One of two questions that are shown alike may hold more.
    pub fn shown(&self) -> Vec<String> {
        let [question, _, hint, second_hint] = &self.texts;
        let in_language = |texts: &[(u16, String)], language: u16| {
            let found = texts.iter().find(|(other, _)| *other == language);
            shown_between_quotes(found.map_or("", |(_, text)| text))
        };
        let mut shown = Vec::new();
        let languages = question.iter().map(|(language, _)| *language);
        let is_unsaid = question.is_empty() && !self.answers.is_empty();
        for language in languages.chain(is_unsaid.then_some(0)) {
            shown.push(language.to_string());
            for texts in [question, hint, second_hint] {
                shown.push(in_language(texts, language));
            }
            for answer in &self.answers {
                let (from, to, points) = (answer.from, answer.to, answer.points);
                shown.push(format!("{from}{to} {points}"));
                shown.push(in_language(&answer.text, language));
            }
        }
        shown
    }

    /// The question with what `stored` says besides that its command does not show: this
    /// was made from it by an edit of the command.
    #[must_use]
    pub fn over(&self, stored: &Training) -> Training {
        let [question, _, hint, second_hint] = &self.texts;
        let [was, wrong, hint_was, second_was] = &stored.texts;
        if has_twice(was) {
            // Which of two in one language was edited cannot be told.
            return self.clone();
        }
        // Where no question is asked, the command says so in the first language.
        let asks = |question: &[(u16, String)], language| {
            let found = question.iter().any(|(other, _)| *other == language);
            found || question.is_empty() && language == 0
        };
        let is_shown = |language| asks(question, language) || asks(was, language);
        let over = |edited: &[_], stored: &[_]| texts_over(edited, stored, is_shown);
        let is_best = stored.points == best_points(&stored.answers);
        Training {
            seconds: stored.seconds,
            unknown: stored.unknown,
            points: if is_best { self.points } else { stored.points },
            texts: [
                over(question, was),
                wrong.clone(),
                over(hint, hint_was),
                over(second_hint, second_was),
            ],
            answers: answers_over(&self.answers, &stored.answers, over),
            payload: Vec::new(),
        }
    }

    /// Returns whether this is only one question in one language with its hints
    /// and answers, in words that any text can show: without a time, a reply to a
    /// wrong answer, or points of its own.
    pub fn is_plain(&self) -> bool {
        let [question, wrong, hint, second_hint] = &self.texts;
        let [(language, words)] = question.as_slice() else {
            return false;
        };
        let is_shown = |text: &str| {
            let is_special = |c: char| c.is_control() || "\"[]{}".contains(c);
            let words = text.split_whitespace();
            !text.contains(is_special) && words.collect::<Vec<_>>().join(" ") == text
        };
        let is_said = |texts: &[(u16, String)]| match texts {
            [] => true,
            [(other, text)] => other == language && !text.is_empty() && is_shown(text),
            _ => false,
        };
        !words.is_empty()
            && is_shown(words)
            && wrong.is_empty()
            && is_said(hint)
            && is_said(second_hint)
            && (self.seconds, self.unknown) == (0, 0)
            && self.points == best_points(&self.answers)
            && self
                .answers
                .iter()
                .all(|answer| answer.unknown == 0 && is_said(&answer.text))
    }
}

/// The points of the best of these answers.
fn best_points(answers: &[Answer]) -> u16 {
    let points = answers.iter().map(|answer| u16::from(answer.points));
    points.max().unwrap_or_default()
}

/// Texts in several languages, as edited where they are shown. One of which the same is
/// shown stays as it is stored.
fn texts_over(
    edited: &[(u16, String)],
    stored: &[(u16, String)],
    is_shown: impl Fn(u16) -> bool,
) -> Vec<(u16, String)> {
    let mut left: Vec<&(u16, String)> = edited.iter().collect();
    let mut seen = Vec::new();
    let mut texts = Vec::new();
    for (language, text) in stored {
        // Of two texts in one language the first is shown.
        if !is_shown(*language) || seen.contains(language) {
            texts.push((*language, text.clone()));
            continue;
        }
        seen.push(*language);
        let place = left.iter().position(|(other, _)| other == language);
        let new = place.map(|at| left.remove(at).1.as_str());
        if shown_between_quotes(text) == new.map(shown_between_quotes).unwrap_or_default() {
            texts.push((*language, text.clone()));
        } else if let Some(new) = new {
            texts.push((*language, text_over(new, text)));
        }
    }
    texts.extend(left.into_iter().cloned());
    texts
}

/// Answers as edited; each with what is stored of it besides, which is found by its move,
/// or else by its place.
fn answers_over(
    edited: &[Answer],
    stored: &[Answer],
    over: impl Fn(&[(u16, String)], &[(u16, String)]) -> Vec<(u16, String)>,
) -> Vec<Answer> {
    let same_move = |one: &Answer, other: &Answer| (one.from, one.to) == (other.from, other.to);
    let mut free: Vec<Option<&Answer>> = stored.iter().map(Some).collect();
    let mut laid_over = |(at, answer): (usize, &Answer)| {
        let has_its_move = |was: Option<&Answer>| was.is_some_and(|was| same_move(was, answer));
        let by_move = free.iter().copied().position(has_its_move);
        let by_place = || {
            let was = free.get(at).copied().flatten();
            let was = was.filter(|_| edited.len() == stored.len())?;
            let is_gone = !edited.iter().any(|other| same_move(other, was));
            is_gone.then_some(at)
        };
        let was = by_move.or_else(by_place);
        let Some(was) = was.and_then(|at| free.get_mut(at)?.take()) else {
            return answer.clone();
        };
        let is_same = same_move(was, answer);
        Answer {
            unknown: if is_same { was.unknown } else { answer.unknown },
            text: over(&answer.text, &was.text),
            ..answer.clone()
        }
    };
    edited.iter().enumerate().map(&mut laid_over).collect()
}

/// Whether two of these texts are in one language.
fn has_twice(texts: &[(u16, String)]) -> bool {
    let mut languages: Vec<u16> = texts.iter().map(|(language, _)| *language).collect();
    languages.sort_unstable();
    languages.dedup();
    languages.len() < texts.len()
}

/// An edited text, whose first and last words, and the blanks between them, stay as they
/// are stored where the words are shown as before.
fn text_over(edited: &str, stored: &str) -> String {
    let (was, new) = (words(stored), words(edited));
    let is_alike = |((_, was), (_, new)): &(&(&str, &str), &(&str, &str))| {
        let shown = was.chars().map(shown_in_quotes);
        shown.eq(new.chars().map(shown_in_quotes))
    };
    let front = was.iter().zip(&new).take_while(is_alike).count();
    let ends = was.iter().skip(front).rev();
    let ends = ends.zip(new.iter().skip(front).rev());
    let back = ends.take_while(is_alike).count();
    // The place of a word among those that were stored, if it stays.
    let place = |at: usize| {
        let from_end = (at + was.len()).checked_sub(new.len());
        let from_end = from_end.filter(|_| new.len() - at <= back);
        Some(at).filter(|at| *at < front).or(from_end)
    };
    let mut text = String::new();
    let mut expected = Some(0);
    for (at, edited) in new.iter().enumerate() {
        let place = place(at);
        let (blanks, word) = place.and_then(|at| was.get(at)).unwrap_or(edited);
        text.push_str(if place == expected { blanks } else { edited.0 });
        text.push_str(word);
        expected = place.map(|at| at + 1);
    }
    text
}

/// The words of a text, each with the blanks before it, and the blanks at its end with
/// no word.
fn words(text: &str) -> Vec<(&str, &str)> {
    let is_blank = |c: char| shown_in_quotes(c).is_whitespace();
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        let begun = rest.trim_start_matches(is_blank);
        let (blanks, _) = rest.split_at(rest.len() - begun.len());
        let (word, after) = begun.split_at(begun.find(is_blank).unwrap_or(begun.len()));
        words.push((blanks, word));
        if word.is_empty() {
            return words;
        }
        rest = after;
    }
}

/// The words that a text between quotes shows, a blank between them.
fn shown_between_quotes(text: &str) -> String {
    let words: String = text.chars().map(shown_in_quotes).collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A correct answer to a training question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Origin of the move.
    pub from: Square,
    /// Destination of the move.
    pub to: Square,
    /// Unknown, 0 in all known games; perhaps a promotion.
    pub unknown: u8,
    /// Points for this answer.
    pub points: u8,
    /// Reply, as a list of texts with their languages.
    pub text: Vec<(u16, String)>,
}

#[cfg(test)]
impl Training {
    /// A question with so many answers that are alike.
    pub(crate) fn of_answers(count: usize) -> Training {
        let answer = Answer {
            from: Square::E2,
            to: Square::E4,
            unknown: 0,
            points: 1,
            text: Vec::new(),
        };
        Training {
            answers: vec![answer; count],
            ..Training::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question in English and German, of which English is shown.
    fn question_in_part() -> Training {
        let text = |language: u16, text: &str| (language, text.to_owned());
        let answer = |from, to, unknown, reply: &str| Answer {
            from,
            to,
            unknown,
            points: 5,
            text: vec![text(0, reply), text(1, "Ja.")],
        };
        Training {
            seconds: 180,
            unknown: 1,
            points: 5,
            texts: [
                vec![text(0, "Who  [wins]?")],
                vec![text(0, "No.")],
                vec![text(0, "Left."), text(1, "Links.")],
                Vec::new(),
            ],
            answers: vec![
                answer(Square::E2, Square::E4, 7, "Yes."),
                answer(Square::D2, Square::D4, 8, "Too."),
            ],
            payload: vec![1],
        }
    }

    /// That question as it is read from its command.
    fn shown_in_part() -> Training {
        let mut shown = question_in_part();
        let of_english = |texts: &mut Vec<(u16, String)>| texts.retain(|(of, _)| *of == 0);
        shown.texts.iter_mut().for_each(of_english);
        shown.texts[0][0].1 = "Who (wins)?".to_owned();
        shown.texts[1].clear();
        for answer in &mut shown.answers {
            of_english(&mut answer.text);
            answer.unknown = 0;
        }
        (shown.seconds, shown.unknown) = (0, 0);
        shown.payload.clear();
        shown
    }

    #[test]
    fn an_edited_text_keeps_its_unchanged_words() {
        for (edited, stored, laid_over) in [
            ("(a) b (c)", "[a]  x\t[c]", "[a] b [c]"),
            ("(a) x (c) d", "[a]  x\t[c]", "[a]  x\t[c] d"),
            (" say WHAT ", " say what ", " say WHAT "),
            ("HOW  now ", " how\tnow ", "HOW  now "),
            ("(a) b", "[a]", "[a] b"),
            ("b (a)", "[a]", "b [a]"),
            ("(a) (c)", "[a] x [c]", "[a] [c]"),
            ("(a) (a)", "[a] {a} [a]", "[a] {a}"),
            ("'é' (b) d", " \"é\" [b]\u{1}c ", " \"é\" [b] d"),
            ("", "[a]", ""),
            ("new", "", "new"),
        ] {
            assert_eq!(
                text_over(edited, stored),
                laid_over,
                "{edited} over {stored}"
            );
        }
    }

    #[test]
    fn an_edited_question_keeps_what_its_command_does_not_show() {
        let stored = question_in_part();
        let edited = |edit: &dyn Fn(&mut Training)| {
            let (mut edited, mut expected) = (shown_in_part(), question_in_part());
            expected.payload.clear();
            edit(&mut edited);
            edit(&mut expected);
            (edited.over(&stored), expected)
        };
        let edits: [&dyn Fn(&mut Training); 6] = [
            &|_| {},
            &|it| it.texts[0][0].1 = "Who loses?".to_owned(),
            &|it| it.texts[3].push((0, "Further left.".to_owned())),
            &|it| it.answers[1].text[0].1 = "As well.".to_owned(),
            &|it| {
                it.answers.remove(0);
            },
            &|it| it.answers.swap(0, 1),
        ];
        for edit in edits {
            let (over, expected) = edited(edit);
            assert_eq!(over, expected);
        }
        let (over, mut expected) = edited(&|it| it.answers[0].to = Square::E3);
        expected.answers[0].unknown = 0;
        assert_eq!(over, expected, "the move of an answer");
        let (over, mut expected) = edited(&|it| {
            it.answers[0].points = 9;
            it.points = 9;
        });
        assert_eq!(over, expected, "the points are those of the best answer");
        let mut own = stored.clone();
        own.points = 6;
        expected = own.clone();
        expected.payload.clear();
        assert_eq!(shown_in_part().over(&own), expected, "points of its own");
        let (over, expected) = edited(&|it| it.texts[2].retain(|(of, _)| *of != 0));
        assert_eq!(over, expected, "a hint is taken away");
        let mut german = shown_in_part();
        german.texts[0].push((1, "Wer?".to_owned()));
        german.texts[2].push((1, "Neu.".to_owned()));
        let over = german.over(&stored);
        assert_eq!(over.texts[0].len(), 2);
        let hints = [(0, "Left.".to_owned()), (1, "Neu.".to_owned())];
        assert_eq!(over.texts[2], hints, "what is typed is shown");
        let mut twice = stored.clone();
        twice.texts[0].push((0, "And who?".to_owned()));
        assert_eq!(shown_in_part().over(&twice), shown_in_part());
    }

    /// An answer of five points without a reply.
    fn e4() -> Answer {
        Answer {
            from: Square::E2,
            to: Square::E4,
            unknown: 0,
            points: 5,
            text: Vec::new(),
        }
    }

    #[test]
    fn a_question_says_its_words_hints_and_answers_in_each_language() {
        let said = |texts: &[(u16, &str)]| -> Vec<(u16, String)> {
            let texts = texts.iter();
            texts
                .map(|&(language, text)| (language, text.to_owned()))
                .collect()
        };
        let mut question = Training {
            texts: [
                said(&[(42, "Who  [wins]?"), (53, "Wer gewinnt?")]),
                said(&[(42, "No.")]),
                said(&[(53, "Links.")]),
                Vec::new(),
            ],
            answers: vec![Answer {
                text: said(&[(42, "Right.")]),
                ..e4()
            }],
            ..Training::default()
        };
        let english = ["42", "Who (wins)?", "", "", "e2e4 5", "Right."];
        let german = ["53", "Wer gewinnt?", "Links.", "", "e2e4 5", ""];
        assert_eq!(question.shown(), [english, german].concat());
        question.texts = Default::default();
        assert_eq!(question.shown(), ["0", "", "", "", "e2e4 5", ""]);
        question.answers.clear();
        assert!(question.shown().is_empty());
    }

    #[test]
    fn a_plain_question_has_nothing_that_a_text_cannot_show() {
        let said = |text: &str| vec![(42, text.to_owned())];
        let plain = Training {
            points: 5,
            texts: [
                said("Who wins?"),
                Vec::new(),
                said("Look left."),
                Vec::new(),
            ],
            answers: vec![Answer {
                text: said("Right."),
                ..e4()
            }],
            ..Training::default()
        };
        assert!(plain.is_plain());
        let but = |change: &dyn Fn(&mut Training)| {
            let mut question = plain.clone();
            change(&mut question);
            question.is_plain()
        };
        assert!(but(&|question| question.texts[2].clear()));
        let changes: [&dyn Fn(&mut Training); 12] = [
            &|question| question.seconds = 1,
            &|question| question.unknown = 1,
            &|question| question.points = 6,
            &|question| question.answers[0].points = 4,
            &|question| question.answers[0].unknown = 1,
            &|question| question.answers[0].text = said("a  gap"),
            &|question| question.answers[0].text = vec![(53, "Richtig.".to_owned())],
            &|question| question.texts[0] = said(""),
            &|question| question.texts[0] = said("Who [wins]?"),
            &|question| question.texts[1] = said("Wrong."),
            &|question| question.texts[2] = said(""),
            &|question| question.texts[3] = said("a\ttab"),
        ];
        for (at, change) in changes.iter().enumerate() {
            assert!(!but(change), "change {at}");
        }
    }
}
