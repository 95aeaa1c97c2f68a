//! PGN tag pairs for which a base has no field, in both directions. They are
//! stored as `[%cbtag Name "value"]` at the end of the comment before the first
//! move, in the text without a language.
//!
//! Names too long for their field are stored there too. The field then contains
//! the beginning of the name, with `?` for characters that the code page lacks;
//! the tag of a player has the value `last|first`. The same applies to a FEN if
//! the stored start position lacks its half-move clock, a high move number or
//! castling rights. Such a tag is used only while it agrees with the field;
//! after that it is an ordinary foreign tag.

use std::borrow::Cow;
use std::collections::HashMap;

use shakmaty::CastlingMode;

use crate::cbh::layout::shown::shows;
use crate::cbh::{CodePage, StoredGame, annotations};
use crate::game::{
    Annotation, AnnotationText, Annotations, Game, GameLabel, Headers, Nation, PlayerName, PlyId,
    Start,
};

/// Start of a stored tag pair.
const MARK: &str = "[%cbtag ";

/// End of a stored tag pair.
const END: &str = "\"]";

/// Name of the tag for the start position.
const FEN: &str = "FEN";

/// Returns the game as it is stored: with its foreign tags in the comment
/// before the first move, and with tags for the names that `stored` has
/// truncated; without `stored` there are none. Tags that are in `old_text` keep
/// their order; if it says the same as the new text, it stays as it is.
pub(in crate::cbh) fn with_stored_tags<'g>(
    game: &'g Game,
    stored: Option<&Headers>,
    old_text: &str,
) -> Cow<'g, Game> {
    let truncated = |stored| truncated_names(stored, &game.headers);
    let whole = stored.map(truncated).unwrap_or_default();
    let fen = game.start.written_fen.as_ref();
    if game.foreign_tags.is_empty() && whole.is_empty() && fen.is_none() {
        return Cow::Borrowed(game);
    }
    let foreign = game.foreign_tags.iter();
    let foreign = foreign.map(|(name, value)| encode_pair(name, value));
    let whole = whole.iter().map(|(name, value)| encode_pair(name, value));
    let fen = fen.map(|fen| encode_pair(FEN, fen));
    let pairs: Vec<String> = foreign.chain(whole).chain(fen).collect();
    let (old_rest, old) = split_pairs(old_text);
    let old: Vec<String> = old
        .iter()
        .map(|(name, value)| encode_pair(name, value))
        .collect();
    let pairs = in_order_of(&old, &pairs);
    let with_pairs = |text: &str| {
        if text == old_rest && pairs == old {
            return old_text.to_owned();
        }
        joined(text, &pairs.join(" "))
    };
    let mut game = game.clone();
    game.foreign_tags.clear();
    let place = last_text(&game.annotations);
    if place.is_some() {
        let edit = |text: &AnnotationText| Some(with_pairs(&text.text));
        edit_text(&mut game.annotations, place, edit);
    } else {
        let text = AnnotationText {
            text: with_pairs(""),
            ..AnnotationText::default()
        };
        game.annotations
            .add(PlyId::START, Annotation::TextAfter(text));
        game.annotations.sort();
    }
    Cow::Owned(game)
}

/// The pairs in the order of `old`, followed by the new ones.
fn in_order_of<'p>(old: &[String], pairs: &'p [String]) -> Vec<&'p str> {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for pair in pairs {
        *left.entry(pair).or_default() += 1;
    }
    let mut ordered = Vec::with_capacity(pairs.len());
    let mut take = |pair: &str| {
        let (pair, count) = left.get_key_value(pair)?;
        let (pair, count) = (*pair, count.checked_sub(1)?);
        left.insert(pair, count);
        ordered.push(pair);
        Some(())
    };
    for pair in old.iter().chain(pairs) {
        take(pair);
    }
    ordered
}

/// The text of a stored game that contains its tag pairs; empty if it has none.
pub(in crate::cbh) fn stored_text(stored: &StoredGame, page: CodePage) -> String {
    let record = stored.annotations.as_deref().unwrap_or_default();
    let remarks = annotations::decoded(record, page).into_iter();
    let about_game = remarks.filter(|(remark, _)| remark.position == -1);
    let mut texts = about_game.filter_map(|(_, remark)| match remark {
        Annotation::TextAfter(text) if is_plain(&text) => Some(text.text),
        _ => None,
    });
    texts.next_back().unwrap_or_default()
}

/// Moves the tag pairs from the comment before the first move to the tags and
/// headers.
pub(crate) fn lift(game: &mut Game) {
    let Some(place) = last_text(&game.annotations) else {
        return;
    };
    let text = game.annotations.on(PlyId::START).nth(place);
    let Some(Annotation::TextAfter(text)) = text else {
        return;
    };
    let (rest, tags) = split_pairs(&text.text);
    if tags.is_empty() {
        return;
    }
    let rest = rest.to_owned();
    // A second tag for the same name is a foreign tag.
    let mut restored = Vec::new();
    for (name, value) in tags {
        let is_restored = !restored.contains(&name)
            && match name.as_str() {
                FEN => restore_fen(&mut game.start, &value),
                name => restore_name(&mut game.headers, name, &value),
            };
        if is_restored {
            restored.push(name);
        } else {
            game.foreign_tags.push((name, value));
        }
    }
    let keeps = !rest.is_empty();
    edit_text(&mut game.annotations, Some(place), |_| {
        keeps.then(|| rest.clone())
    });
}

/// The PGN tags of the players.
const PLAYERS: [&str; 2] = ["White", "Black"];

/// Field sizes of a player's last and first name in bytes.
const PLAYER_FIELDS: (usize, usize) = (30, 20);

/// The PGN tags of the labels, by language.
const LABELS: [&str; GameLabel::LANGUAGES] = [
    "CbhTag", "CbhTagDe", "CbhTagFr", "CbhTagEs", "CbhTagIt", "CbhTagNl", "CbhTag7", "CbhTag8",
];

/// The names that consist of one part, with their PGN tags and the sizes of
/// their fields in bytes.
fn plain_names(headers: &mut Headers) -> impl Iterator<Item = (&'static str, usize, &mut String)> {
    let names = [
        ("Event", 40, &mut headers.tournament.title),
        ("Site", 30, &mut headers.tournament.place),
        ("Annotator", 45, &mut headers.annotator),
        ("SourceTitle", 25, &mut headers.source.title),
        ("Source", 16, &mut headers.source.publisher),
        ("WhiteTeam", 45, &mut headers.white_team.title),
        ("BlackTeam", 45, &mut headers.black_team.title),
    ];
    let labels = LABELS.into_iter().zip(&mut headers.tag.titles);
    let labels = labels.map(|(name, title)| (name, 200, title));
    names.into_iter().chain(labels)
}

/// The names that `stored` contains only in part, with their PGN tags.
fn truncated_names(stored: &Headers, whole: &Headers) -> Vec<(&'static str, String)> {
    let mut cut = Vec::new();
    let stored_players = [&stored.white, &stored.black];
    let players = [&whole.white, &whole.black].into_iter().zip(stored_players);
    for (name, (whole, stored)) in PLAYERS.into_iter().zip(players) {
        if is_truncated_player(stored, whole) {
            cut.push((name, format!("{}|{}", whole.last, whole.first)));
        }
    }
    let (mut stored, mut whole) = (stored.clone(), whole.clone());
    let names = plain_names(&mut stored).zip(plain_names(&mut whole));
    for ((name, size, stored), (_, _, whole)) in names {
        if !shows(stored, whole) && is_truncated(stored, whole, size) {
            cut.push((name, whole.clone()));
        }
    }
    cut
}

/// Restores a FEN that the start position contains only in part. Returns
/// whether it was restored.
fn restore_fen(start: &mut Start, fen: &str) -> bool {
    let mode = CastlingMode::from_chess960(start.is_chess960);
    let Some(written) = Start::from_fen(fen, mode) else {
        return false;
    };
    let is_it = written.written_fen.as_deref() == Some(fen) && start.is_stored_as(&written);
    if is_it {
        *start = written;
    }
    is_it
}

/// Restores a name that the headers contain only in part. Returns whether it
/// was restored.
fn restore_name(headers: &mut Headers, name: &str, value: &str) -> bool {
    let [white, black] = PLAYERS;
    let player = match name {
        _ if name == white => Some(&mut headers.white),
        _ if name == black => Some(&mut headers.black),
        _ => None,
    };
    if let Some(player) = player {
        // Names contain few bars. Limit the work for a hostile one.
        let mut splits = value.match_indices('|').take(8).filter_map(|(at, _)| {
            let (last, first) = value.split_at_checked(at)?;
            Some(PlayerName {
                last: last.to_owned(),
                first: first.strip_prefix('|')?.to_owned(),
            })
        });
        let whole = splits.find(|whole| is_truncated_player(player, whole));
        let is_found = whole.is_some();
        if let Some(whole) = whole {
            *player = whole;
        }
        return is_found;
    }
    let Some((_, size, place)) = plain_names(headers).find(|(known, ..)| *known == name) else {
        return false;
    };
    let is_it = !shows(place, value) && is_truncated(place, value, size);
    if is_it {
        value.clone_into(place);
    }
    is_it
}

/// Returns whether `stored` is a truncated form of the player `whole`.
fn is_truncated_player(stored: &PlayerName, whole: &PlayerName) -> bool {
    let (last, first) = PLAYER_FIELDS;
    let is_last_same = shows(&stored.last, &whole.last);
    let is_first_same = shows(&stored.first, &whole.first);
    !(is_last_same && is_first_same)
        && (is_last_same || is_truncated(&stored.last, &whole.last, last))
        && (is_first_same || is_truncated(&stored.first, &whole.first, first))
}

/// Returns whether `stored` is what a field of `size` bytes can contain of
/// `whole`: the longest prefix in a code page or in UTF-8, with or without a
/// terminating zero. A shorter prefix is another name, which the entity was
/// given later.
fn is_truncated(stored: &str, whole: &str, size: usize) -> bool {
    let Some(rest) = rest_of(stored, whole) else {
        return false;
    };
    // If the name is complete, some of its characters are `?`.
    rest.chars().next().is_none_or(|next| {
        let is_full_in_page = stored.chars().count() + 1 >= size;
        is_full_in_page || (stored.len() + next.len_utf8() >= size)
    })
}

/// The rest of `whole` after the prefix `stored`, in which `?` may stand for
/// any character that is not ASCII; `None` if `stored` is not a prefix.
fn rest_of<'w>(stored: &str, whole: &'w str) -> Option<&'w str> {
    let mut rest = whole.chars();
    for stored in stored.chars() {
        let whole = rest.next()?;
        if stored != whole && (stored != '?' || whole.is_ascii()) {
            return None;
        }
    }
    Some(rest.as_str())
}

/// The index of the comment that contains the tag pairs.
fn last_text(annotations: &Annotations) -> Option<usize> {
    let remarks = annotations.on(PlyId::START).enumerate();
    remarks
        .filter(|(_, remark)| matches!(remark, Annotation::TextAfter(text) if is_plain(text)))
        .last()
        .map(|(at, _)| at)
}

fn is_plain(text: &AnnotationText) -> bool {
    text.language == Nation::NONE && text.lead == 0
}

/// Replaces the words of the comment before the first move; removes it if they
/// are empty.
fn edit_text(
    annotations: &mut Annotations,
    place: Option<usize>,
    edit: impl Fn(&AnnotationText) -> Option<String>,
) {
    let old = std::mem::take(annotations);
    for (at, (ply, remark)) in old.iter().enumerate() {
        // The comments before the first move are first.
        let is_it = ply == PlyId::START && place == Some(at);
        match remark {
            Annotation::TextAfter(text) if is_it => {
                if let Some(words) = edit(text) {
                    let text = AnnotationText {
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

/// Encodes one tag pair.
fn encode_pair(name: &str, value: &str) -> String {
    let mut out = format!("{MARK}{name} \"");
    for c in value.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // ChessBase texts encode chess symbols and braces differently.
            c if c.is_ascii_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push_str(END);
    out
}

/// The tag pairs that a text ends in.
pub(in crate::cbh) fn tags_in(text: &str) -> Vec<(String, String)> {
    split_pairs(text).1
}

/// Splits the tag pairs from the end of a text.
fn split_pairs(text: &str) -> (&str, Vec<(String, String)>) {
    for (at, _) in text.match_indices(MARK) {
        let (before, pairs) = text.split_at_checked(at).unwrap_or((text, ""));
        if let Some(tags) = all_pairs(pairs) {
            return (before.strip_suffix(' ').unwrap_or(before), tags);
        }
        // Each attempt may scan to the end of the text.
        if pairs.len() > MOST_BYTES {
            break;
        }
    }
    (text, Vec::new())
}

/// In longer texts, only one position is tried.
const MOST_BYTES: usize = 1 << 16;

/// The tag pairs, if the text consists of nothing else.
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

/// Decodes a value up to its closing quotation mark, and returns the rest.
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
            let text = AnnotationText {
                text: text.to_owned(),
                ..AnnotationText::default()
            };
            game.annotations
                .add(PlyId::START, Annotation::TextAfter(text));
        }
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        game.foreign_tags = tags.iter().map(owned).collect();
        game
    }

    #[test]
    fn tags_are_stored_in_the_first_comment_and_restored() {
        let tags = [("WhiteFideId", "1503014"), ("Note", "a \"b\" \\ ]c [%x")];
        for text in [None, Some("A fine game."), Some("With [%cbtag in it")] {
            let game = game(text, &tags);
            let mut again = with_stored_tags(&game, Some(&game.headers), "").into_owned();
            assert!(again.foreign_tags.is_empty());
            lift(&mut again);
            assert_eq!(again.foreign_tags, game.foreign_tags);
            assert_eq!(again.annotations, game.annotations);
        }
    }

    #[test]
    fn a_text_that_says_the_same_stays_as_it_is_stored() {
        for stored in [
            r#"A text.[%cbtag Note "x"]"#,
            r#"A text.  [%cbtag Note "x"][%cbtag Other "\y"] "#,
            r#" [%cbtag Note "x"]"#,
        ] {
            let mut read = game(Some(stored), &[]);
            lift(&mut read);
            assert!(!read.foreign_tags.is_empty());
            let again = with_stored_tags(&read, Some(&read.headers), stored).into_owned();
            assert_eq!(again.annotations, game(Some(stored), &[]).annotations);
            read.foreign_tags.push(("New".to_owned(), "z".to_owned()));
            let edited = with_stored_tags(&read, Some(&read.headers), stored).into_owned();
            assert_ne!(edited.annotations, again.annotations);
            let mut read_again = edited;
            lift(&mut read_again);
            assert_eq!(read_again.foreign_tags, read.foreign_tags);
        }
    }

    #[test]
    fn truncated_names_are_restored() {
        let player = |last: &str, first: &str| PlayerName {
            last: last.to_owned(),
            first: first.to_owned(),
        };
        let mut whole = game(Some("A text."), &[]);
        let long = "Müller|Meier".repeat(3);
        whole.headers.white = player(&long, "Karl-Heinz");
        whole.headers.tournament.place = "Ürümqi".to_owned();
        whole.headers.annotator = "Whole".to_owned();
        whole.headers.source.publisher = "Éditions de la Tour".to_owned();
        whole.headers.tag.titles[1] = "é".repeat(150);
        let mut stored = whole.headers.clone();
        stored.white = player("M?ller|MeierM?ller|MeierM?ller", "Karl-Heinz");
        stored.tournament.place = "?r?mqi".to_owned();
        stored.source.publisher = "Éditions de la".to_owned();
        stored.tag.titles[1] = "é".repeat(99);
        let mut read = with_stored_tags(&whole, Some(&stored), "").into_owned();
        read.headers = stored.clone();
        lift(&mut read);
        assert_eq!(
            format!("{:?}", read.headers),
            format!("{:?}", whole.headers)
        );
        assert_eq!(read.annotations, whole.annotations);
        assert!(read.foreign_tags.is_empty());
        // The entity was renamed since; the new name may be a prefix of the old
        // one.
        for last in ["", "M", "Müller", "Müller|MeierMüller|Meier"] {
            let mut renamed = with_stored_tags(&whole, Some(&stored), "").into_owned();
            renamed.headers = stored.clone();
            renamed.headers.white = player(last, "Karl-Heinz");
            lift(&mut renamed);
            assert_eq!(renamed.headers.white.last, last);
            assert_eq!(renamed.foreign_tags.len(), 1);
        }
        let mut renamed = with_stored_tags(&whole, Some(&stored), "").into_owned();
        renamed.headers = stored.clone();
        renamed.headers.tournament.place = "Kashgar".to_owned();
        lift(&mut renamed);
        assert_eq!(renamed.headers.tournament.place, "Kashgar");
        let stale = ("Site".to_owned(), "Ürümqi".to_owned());
        assert_eq!(renamed.foreign_tags, [stale]);
    }

    #[test]
    fn malformed_tags_stay_text() {
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

    #[test]
    fn a_position_is_restored_whose_fen_the_base_could_not_hold() {
        let at = |fen| Start::from_fen(fen, CastlingMode::Standard).unwrap();
        let stored = || at("k7/8/8/8/8/8/8/K2R4 w - - 0 20");
        for (fen, is_restored) in [
            ("k7/8/8/8/8/8/8/K2R4 w - - 10 20", true),
            ("k7/8/8/8/8/8/8/K2R4 w KQ - 0 20", true),
            // What the base holds needs no other FEN.
            ("k7/8/8/8/8/8/8/K2R4 w - - 0 20", false),
            ("k7/8/8/8/8/8/8/K2Q4 w - - 10 20", false),
            ("k7/8/8/8/8/8/8/K2R4 w - - 10 21", false),
            ("no position", false),
        ] {
            let mut start = stored();
            assert_eq!(restore_fen(&mut start, fen), is_restored, "{fen}");
            let written = start.written_fen.as_deref();
            assert_eq!(written, is_restored.then_some(fen));
            assert!(start.is_stored_as(&stored()));
        }
    }
}
