//! Tag pairs that a base has no place for, both ways: `[%cbtag Name "value"]`
//! at the end of the text about the game, in no language.

use std::borrow::Cow;

use crate::game::{Annotation, Annotations, Game, Nation, PlyId, Text};

/// What such a tag pair begins with.
const MARK: &str = "[%cbtag ";

/// What ends it.
const END: &str = "\"]";

/// The game with its foreign tags in the text about it.
pub(super) fn lowered(game: &Game) -> Cow<'_, Game> {
    if game.foreign_tags.is_empty() {
        return Cow::Borrowed(game);
    }
    let pairs: Vec<String> = game
        .foreign_tags
        .iter()
        .map(|(name, value)| spelled(name, value))
        .collect();
    let pairs = pairs.join(" ");
    let mut game = game.clone();
    game.foreign_tags.clear();
    let place = last_text(&game.annotations);
    let edit = |text: &Text| Some(joined(&text.text, &pairs));
    if place.is_some() {
        edit_text(&mut game.annotations, place, edit);
    } else {
        let text = Text {
            text: pairs,
            ..Text::default()
        };
        game.annotations
            .add(PlyId::START, Annotation::TextAfter(text));
        game.annotations.sort();
    }
    Cow::Owned(game)
}

/// Takes the tag pairs out of the text about the game.
pub(super) fn lift(game: &mut Game) {
    let Some(place) = last_text(&game.annotations) else {
        return;
    };
    let text = game.annotations.on(PlyId::START).nth(place);
    let Some(Annotation::TextAfter(text)) = text else {
        return;
    };
    let (rest, tags) = parted(&text.text);
    if tags.is_empty() {
        return;
    }
    let rest = rest.to_owned();
    for (name, value) in tags {
        if game.foreign_tags.iter().all(|(other, _)| *other != name) {
            game.foreign_tags.push((name, value));
        }
    }
    let keeps = !rest.is_empty();
    edit_text(&mut game.annotations, Some(place), |_| {
        keeps.then(|| rest.clone())
    });
}

/// Which remark about the game is the text that has the tag pairs.
fn last_text(annotations: &Annotations) -> Option<usize> {
    let is_plain = |remark: &Annotation| {
        matches!(remark, Annotation::TextAfter(text)
            if text.language == Nation::NONE && text.lead == 0)
    };
    let remarks = annotations.on(PlyId::START).enumerate();
    remarks
        .filter(|(_, remark)| is_plain(remark))
        .last()
        .map(|(at, _)| at)
}

/// Changes the words of a text about the game; takes it out if none are left.
fn edit_text(
    annotations: &mut Annotations,
    place: Option<usize>,
    edit: impl Fn(&Text) -> Option<String>,
) {
    let old = std::mem::take(annotations);
    for (at, (ply, remark)) in old.iter().enumerate() {
        // The remarks about the game come first.
        let is_it = ply == PlyId::START && place == Some(at);
        match remark {
            Annotation::TextAfter(text) if is_it => {
                if let Some(words) = edit(text) {
                    let text = Text {
                        text: words,
                        ..text.clone()
                    };
                    annotations.add(ply, Annotation::TextAfter(text));
                }
            }
            remark => annotations.add(ply, remark.clone()),
        }
    }
    for (position, remark) in old.stray() {
        annotations.add_stray(position, remark.clone());
    }
}

fn joined(text: &str, pairs: &str) -> String {
    if text.is_empty() {
        return pairs.to_owned();
    }
    format!("{text} {pairs}")
}

/// One tag pair as a command.
fn spelled(name: &str, value: &str) -> String {
    let mut out = format!("{MARK}{name} \"");
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // Signs of chess and braces have other forms in texts.
            c if c.is_ascii_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push_str(END);
    out
}

/// The text before the tag pairs at its end, and these.
fn parted(text: &str) -> (&str, Vec<(String, String)>) {
    for (at, _) in text.match_indices(MARK) {
        let (before, pairs) = text.split_at_checked(at).unwrap_or((text, ""));
        if let Some(tags) = all_pairs(pairs) {
            return (before.strip_suffix(' ').unwrap_or(before), tags);
        }
        // Each attempt reads on to the end at most.
        if pairs.len() > MOST_BYTES {
            break;
        }
    }
    (text, Vec::new())
}

/// Longer texts are looked at once only.
const MOST_BYTES: usize = 1 << 16;

/// The tag pairs that a text wholly consists of.
fn all_pairs(mut text: &str) -> Option<Vec<(String, String)>> {
    let mut tags = Vec::new();
    loop {
        text = text.trim_start();
        if text.is_empty() {
            return Some(tags);
        }
        let (name, rest) = text.strip_prefix(MARK)?.split_once(" \"")?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let (value, rest) = unquoted(rest)?;
        tags.push((name.to_owned(), value));
        text = rest.strip_prefix(']')?;
    }
}

/// A value up to its quotation mark, and what follows.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => value.push(chars.next()?.1),
            '"' => return Some((value, text.get(at + 1..)?)),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn game(text: Option<&str>, tags: &[(&str, &str)]) -> Game {
        let mut game = Game::default();
        if let Some(text) = text {
            let text = Text {
                text: text.to_owned(),
                ..Text::default()
            };
            game.annotations
                .add(PlyId::START, Annotation::TextAfter(text));
        }
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        game.foreign_tags = tags.iter().map(owned).collect();
        game
    }

    #[test]
    fn tags_stand_in_the_text_about_the_game_and_come_back() {
        let tags = [("WhiteFideId", "1503014"), ("Note", "a \"b\" \\ ]c [%x")];
        for text in [None, Some("A fine game."), Some("With [%cbtag in it")] {
            let game = game(text, &tags);
            let mut again = lowered(&game).into_owned();
            assert!(again.foreign_tags.is_empty());
            lift(&mut again);
            assert_eq!(again.foreign_tags, game.foreign_tags);
            assert_eq!(again.annotations, game.annotations);
        }
    }

    #[test]
    fn what_is_no_tag_stays_a_text() {
        for text in [
            "[%cbtag Name \"value\"] and more",
            "[%cbtag Name \"value\"",
            "[%cbtag Na me \"value\"]",
            "[%cbtag  \"value\"]",
            "no tag",
        ] {
            let mut read = game(Some(text), &[]);
            lift(&mut read);
            assert_eq!(read.annotations, game(Some(text), &[]).annotations);
            assert!(read.foreign_tags.is_empty());
        }
    }
}
