//! An edited annotation keeps the bytes of its unchanged words, and its place
//! among the others.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    reason = "a test says what is wrong by panicking, and what it does by printing"
)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use cbfs::cbh::{
    CodePage, Database, Decoded, GameId, Options, RecordKind, Saver, StoredGame, rewrite, write,
};
use cbfs::game::{Game, MAX_WORD_BYTES};
use cbfs::pgn;

use common::numbers::Numbers;
use common::{fixture_bases, real_bases, text_of};

/// A stored remark: position, kind, payload.
type Remark = (i32, u8, Vec<u8>);

/// The remarks of a record, read by the layout alone.
fn remarks(record: &[u8]) -> Vec<Remark> {
    let mut rest = &record[14..];
    let mut remarks = Vec::new();
    while !rest.is_empty() {
        let position = i32::from_be_bytes([rest[0], rest[1], rest[2], 0]) >> 8;
        let size = usize::from(u16::from_be_bytes([rest[4], rest[5]]));
        remarks.push((position, rest[3], rest[6..size].to_vec()));
        rest = &rest[size..];
    }
    remarks
}

fn remarks_of(stored: &StoredGame) -> Vec<Remark> {
    stored.annotations.as_deref().map_or(Vec::new(), remarks)
}

/// The words of the comments of a text, commands left out.
fn words(text: &str) -> Vec<std::ops::Range<usize>> {
    let moves = text.find("\n\n").unwrap();
    let (mut words, mut word, mut is_comment, mut brackets) = (Vec::new(), None, false, 0_usize);
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < moves) {
        let is_end = c.is_whitespace() || matches!(c, '{' | '}');
        if is_end && let Some(start) = word.take() {
            words.push(start..at);
        }
        match c {
            '{' => is_comment = true,
            '}' => is_comment = false,
            '[' if text[at..].starts_with("[%") => {
                brackets = 1;
                word = None;
            }
            ']' => brackets = 0,
            c if is_comment && brackets == 0 && !c.is_whitespace() && word.is_none() => {
                word = Some(at);
            }
            _ => {}
        }
    }
    words.retain(|word| !text[word.clone()].contains(['[', ']', '%']));
    words
}

#[derive(Clone, Copy, Debug)]
enum Edit {
    Replace,
    Insert,
    Remove,
}

const NEW: &str = "Qzx7";

impl Edit {
    /// Edits a word, and breaks the lines of the text elsewhere.
    fn apply(self, text: &str, word: &std::ops::Range<usize>) -> String {
        let (before, old, after) = (&text[..word.start], &text[word.clone()], &text[word.end..]);
        let edited = match self {
            Edit::Replace => NEW.to_owned(),
            Edit::Insert => format!("{old}\n  {NEW}"),
            Edit::Remove => String::new(),
        };
        let (tags, moves) = before.split_once("\n\n").unwrap();
        let moves = moves.replace('\n', " ");
        format!("{tags}\n\n{moves}{edited}{after}")
    }
}

/// The payloads without what they have in common at both ends.
fn difference<'a>(old: &'a [u8], new: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    (&old[..old.len() - end], &new[..new.len() - end])
}

/// Whether only the word was touched, in one remark.
fn ensure_only_word(edit: Edit, word: &str, old: &[Remark], new: &[Remark]) -> Result<(), String> {
    if old.len() > new.len() {
        // The remark had this word only.
        let gone = old.iter().filter(|remark| !new.contains(remark)).count();
        let is_one = gone == 1 && matches!(edit, Edit::Remove);
        return is_one
            .then_some(())
            .ok_or_else(|| format!("{gone} remarks are gone"));
    }
    if old.len() < new.len() {
        return Err("a remark was added".to_owned());
    }
    let mut differing = old.iter().zip(new).filter(|(old, new)| old != new);
    let Some((old, new)) = differing.next() else {
        return Err("nothing changed".to_owned());
    };
    if differing.next().is_some() || (old.0, old.1) != (new.0, new.1) {
        return Err("more than one remark changed".to_owned());
    }
    let (was, is) = difference(&old.2, &new.2);
    let is_control = |bytes: &[u8]| bytes.iter().any(|byte| *byte < b' ');
    // A new word in the middle of one that is shown in parts has blanks on both sides.
    let most = NEW.len() + usize::from(word.len() > MAX_WORD_BYTES - char::MAX.len_utf8());
    let is_good = match edit {
        Edit::Replace => was.len() <= word.len() && is.len() <= most && !is_control(was),
        Edit::Insert => was.is_empty() && (NEW.len() + 1..=most + 1).contains(&is.len()),
        // A word goes with what separates it from one neighbour.
        Edit::Remove => is.is_empty() && was.len() <= word.len() + 4,
    };
    let [was, is] = [was, is].map(|bytes| bytes.escape_ascii().to_string());
    is_good
        .then_some(())
        .ok_or_else(|| format!("\"{was}\" became \"{is}\""))
}

fn for_each_game(base: &Path, mut with: impl FnMut(&Database, GameId, &StoredGame, &Decoded)) {
    let database = Database::open(base, &Options::default()).unwrap();
    let mut entries = Vec::new();
    database
        .entries(GameId(1), database.last_id(), &mut entries)
        .unwrap();
    let mut decoded = Decoded::default();
    for entry in entries {
        let is_game = entry.kind == RecordKind::Game;
        if is_game
            && database.read_game(entry.id, &mut decoded).is_ok()
            && decoded.defects.is_empty()
        {
            let stored = database.stored_game(entry.id).unwrap();
            with(&database, entry.id, &stored, &decoded);
        }
    }
}

/// Every comment of every base is edited at some words.
#[test]
fn editing_a_word_changes_no_other_byte() {
    let (mut edits, mut lost) = (BTreeMap::<String, usize>::new(), Vec::new());
    for base in real_bases().into_iter().chain(fixture_bases()) {
        let name = base.file_stem().unwrap().to_string_lossy().into_owned();
        let is_small = std::fs::metadata(&base).unwrap().len() < 5_000;
        for_each_game(&base, |database, id, stored, decoded| {
            if stored.annotations.is_none() {
                return;
            }
            // Its texts keep tags, which are written by the saver alone.
            if name == "misplaced" {
                return;
            }
            let text = text_of(decoded);
            let words = words(&text);
            let mut numbers = Numbers::of(u64::from(id.0));
            let tries = words.len().min(if is_small { 60 } else { 9 });
            for count in 0..tries {
                let word = &words[numbers.below(words.len())];
                let edit = [Edit::Replace, Edit::Insert, Edit::Remove][count % 3];
                let edited = edit.apply(&text, word);
                let edited = pgn::decode(edited.as_bytes()).unwrap();
                let page = database.code_page();
                let new = rewrite(id, stored, &decoded.game, &edited, page).unwrap();
                assert_eq!(new.moves, stored.moves);
                ensure_says(&new, database, &edited);
                let (old, new) = (remarks_of(stored), remarks_of(&new));
                *edits.entry(name.clone()).or_default() += 1;
                if let Err(why) = ensure_only_word(edit, &text[word.clone()], &old, &new) {
                    lost.push(format!(
                        "{name} {} {edit:?} {}: {why}",
                        id.0,
                        &text[word.clone()]
                    ));
                }
            }
        });
    }
    println!("edits: {edits:?}, of which {} lose bytes", lost.len());
    assert!(lost.is_empty(), "{lost:#?}");
    assert!(edits.values().sum::<usize>() > 500, "{edits:?}");
}

/// What is stored now says what was edited.
fn ensure_says(stored: &StoredGame, database: &Database, edited: &Game) {
    let mut again = Game {
        headers: edited.headers.clone(),
        foreign_tags: edited.foreign_tags.clone(),
        ..Game::default()
    };
    stored.decode(database.code_page(), &mut again).unwrap();
    let [again, edited] = [&again, edited].map(|game| {
        let mut text = Vec::new();
        pgn::encode(game, &[], &mut text);
        let text = String::from_utf8(text).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    });
    assert_eq!(again, edited);
}

/// A game of a sample base after an edit of its text, as the saver stores it.
fn edited(base: &str, id: u32, edit: impl Fn(&str) -> String) -> (Vec<Remark>, Vec<Remark>) {
    let path = common::fixture(&format!("cbh/{base}/{base}.cbh"));
    let database = Database::open(&path, &Options::default()).unwrap();
    let id = GameId(id);
    let mut decoded = Decoded::default();
    database.read_game(id, &mut decoded).unwrap();
    let stored = database.stored_game(id).unwrap();
    let text = edit(&in_one_line(&text_of(&decoded)));
    let game = pgn::decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let new = rewrite(id, &stored, &decoded.game, &game, database.code_page()).unwrap();
    let mut saver = Saver::new(&database, UNIX_EPOCH + Duration::from_secs(1_800_000_000));
    saver.replace(id, &game).unwrap();
    let record = new.annotations.clone().unwrap();
    let plan = saver.finish().unwrap();
    let written = format!("{:?}", plan.transaction);
    assert!(!written.is_empty() && !record.is_empty());
    (remarks_of(&stored), remarks_of(&new))
}

/// A text with its moves in one line.
fn in_one_line(text: &str) -> String {
    let (tags, moves) = text.split_once("\n\n").unwrap();
    format!("{tags}\n\n{}", moves.replace('\n', " "))
}

fn replaced(text: &str, old: &str, new: &str) -> String {
    assert!(text.contains(old), "{old} in {text}");
    text.replacen(old, new, 1)
}

#[test]
fn an_edited_remark_keeps_its_place() {
    for base in ["remarks-1251", "remarks-1252"] {
        for (old_word, new_word) in [("The opening", "An opening"), ("$1", "$2"), ("Ge4", "Ge5")] {
            let (old, new) = edited(base, 1, |text| replaced(text, old_word, new_word));
            let heads = |remarks: &[Remark]| -> Vec<(i32, u8, Option<u8>)> {
                let head = |(position, kind, payload): &Remark| {
                    let language = payload.get(1).filter(|_| matches!(kind, 0x02 | 0x82));
                    (*position, *kind, language.copied())
                };
                remarks.iter().map(head).collect()
            };
            assert_eq!(heads(&old), heads(&new));
            let changed = old.iter().zip(&new).filter(|(old, new)| old != new).count();
            assert_eq!(changed, 1, "{old_word}");
        }
    }
}

#[test]
fn another_language_and_another_order_keep_the_words() {
    let (old, new) = edited("remarks-1252", 1, |text| {
        replaced(text, "[%cblang en] The opening", "[%cblang fr] The opening")
    });
    let differing: Vec<_> = old
        .iter()
        .zip(&new)
        .filter(|(old, new)| old != new)
        .collect();
    let [(was, is)] = differing[..] else {
        panic!("{differing:?}");
    };
    assert_eq!((was.2[1], is.2[1]), (42, 49));
    assert_eq!(was.2[2..], is.2[2..]);
}

/// The text without the tags that say what its remarks are, as a program leaves
/// it that knows only tags of its own.
fn without_told(text: &str) -> String {
    let told = ["[CbhLang ", "[CbhLead ", "[CbhBefore ", "[CbhExact"];
    let is_other = |line: &&str| !told.iter().any(|tag| line.starts_with(tag));
    text.split_inclusive('\n').filter(is_other).collect()
}

/// A tag that is gone changes no remark: neither its bytes nor language nor
/// place, in no game of any base.
#[test]
fn a_lost_tag_changes_no_remark() {
    let mut tagless = 0;
    for base in real_bases().into_iter().chain(fixture_bases()) {
        for_each_game(&base, |database, id, stored, decoded| {
            let text = text_of(decoded);
            let left = without_told(&text);
            if left == text {
                return;
            }
            tagless += 1;
            let read = pgn::decode(left.as_bytes()).unwrap();
            let page = database.code_page();
            let new = rewrite(id, stored, &decoded.game, &read, page).unwrap();
            assert_eq!(
                remarks_of(stored),
                remarks_of(&new),
                "{} {}\n{text}",
                base.display(),
                id.0
            );
        });
    }
    assert!(tagless > 5, "{tagless}");
}

/// Of a text without its tag, what was edited stays in its language; what is
/// new is in none.
#[test]
fn new_remarks_of_a_text_without_its_tag_are_in_no_language() {
    let english = "[CbhLang \"en\"]";
    let in_box = "Played in a box";
    let edit = |text: &str| {
        let id = text.find(in_box).is_some();
        assert!(id && text.contains(english), "{text}");
        let text = without_told(text);
        replaced(
            &replaced(&text, in_box, "In a box"),
            "1. e4 e5",
            "1. e4 {new} 1... e5",
        )
    };
    let number = (1..14)
        .find(|number| text_of_sample(*number).contains(in_box))
        .unwrap();
    let (old, new) = edited("sample", number, edit);
    assert_eq!(new.len(), old.len() + 1);
    let languages: Vec<(i32, u8)> = new
        .iter()
        .filter(|(_, kind, _)| *kind == 0x02)
        .map(|(position, _, payload)| (*position, payload[1]))
        .collect();
    assert_eq!(languages[..2], [(-1, 42), (0, 0)]);
    assert!(languages[2..].iter().all(|(_, language)| *language == 42));
}

/// Another language in the tag is another language of the remarks.
#[test]
fn the_tag_sets_the_language_of_all_texts_without_one() {
    let number = (1..14)
        .find(|number| text_of_sample(*number).contains("[CbhLang"))
        .unwrap();
    for (tag, language) in [("[CbhLang \"de\"]", 53), ("[CbhLang \"any\"]", 0)] {
        let (old, new) = edited("sample", number, |text| {
            replaced(text, "[CbhLang \"en\"]", tag)
        });
        for (old, new) in old.iter().zip(&new).filter(|(old, _)| old.1 == 0x02) {
            assert_eq!((old.2[1], new.2[1]), (42, language));
            assert_eq!(old.2[2..], new.2[2..]);
        }
    }
}

/// A text of another game has the languages that it says.
#[test]
fn the_remarks_of_another_game_are_in_no_language() {
    let number = (1..14)
        .find(|number| text_of_sample(*number).contains("[CbhLang"))
        .unwrap();
    let (_, new) = edited("sample", number, |_| "{mine} 1. d4 {too} *".to_owned());
    let languages: Vec<u8> = new.iter().map(|(_, _, payload)| payload[1]).collect();
    assert_eq!(languages, [0, 0]);
}

fn text_of_sample(number: u32) -> String {
    let path = common::fixture("cbh/sample/sample.cbh");
    let database = Database::open(&path, &Options::default()).unwrap();
    let mut decoded = Decoded::default();
    database
        .read_game(GameId(number), &mut decoded)
        .map_or_else(|_| String::new(), |()| text_of(&decoded))
}

#[test]
fn annotations_after_an_edited_move_keep_their_bytes() {
    for base in ["remarks-1251", "remarks-1252"] {
        for (old_moves, new_moves) in [
            ("1. e4", "1. e3"),
            ("1... e5", "1... e6"),
            ("a6", "a6 {[%cblang it] poi} 4. h3 h6"),
        ] {
            for id in [1, 2] {
                let (old, new) = edited(base, id, |text| text.replacen(old_moves, new_moves, 1));
                let payloads = |remarks: &[Remark]| -> Vec<(u8, Vec<u8>)> {
                    let all = remarks
                        .iter()
                        .map(|(_, kind, payload)| (*kind, payload.clone()));
                    all.filter(|(_, payload)| !payload.ends_with(b"poi"))
                        .collect()
                };
                assert_eq!(payloads(&old), payloads(&new), "{base} {id} {new_moves}");
            }
        }
    }
}

#[test]
fn a_remark_that_moves_keeps_its_bytes() {
    let (old, new) = edited("remarks-1252", 3, |text| {
        let start = text.find("{See").unwrap();
        let end = start + text[start..].find('}').unwrap() + 1;
        let remark = &text[start..end];
        let moved = format!("1... e5 {remark}");
        format!(
            "{}{}",
            &text[..start],
            replaced(&text[end..], "1... e5", &moved)
        )
    });
    assert_eq!((old[0].0, new[0].0), (0, 1));
    assert_eq!(old[0].2, new[0].2);
    assert_eq!(old[1], new[1]);
}

/// A game that is stored, edited as a text and stored again.
struct Edited {
    /// The text of what is stored after the edit.
    after: String,
    old: Vec<Remark>,
    new: Vec<Remark>,
}

/// Stores the game of a text, and what `edit` makes of its text.
fn stored_and_edited(text: &str, edit: impl Fn(&str) -> String) -> Edited {
    let page = CodePage::from_label("1252").unwrap();
    let id = GameId(1);
    let game = pgn::decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let stored = write(id, &game, page).unwrap();
    let as_read = |stored: &StoredGame| {
        let mut game = Game::default();
        stored.decode(page, &mut game).unwrap();
        let mut text = Vec::new();
        pgn::encode(&game, &[], &mut text);
        (game, in_one_line(&String::from_utf8(text).unwrap()))
    };
    let (read, before) = as_read(&stored);
    let text = edit(&before);
    let edited = pgn::decode(text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let new = rewrite(id, &stored, &read, &edited, page).unwrap();
    Edited {
        after: as_read(&new).1,
        old: remarks_of(&stored),
        new: remarks_of(&new),
    }
}

/// Moves with a remark before one, in the middle of a line, in German in an
/// English game.
const WITH_BEFORE: &str = "[CbhLang \"en\"] 1. e4 e5 2. Nf3 Nc6 {a quiet developing move} 3. Bb5 \
    (3. Bc4 Nf6 {[%cbpre 1] before Ng5} 4. Ng5) \
    (3. Bc4 Bc5 (3... d6 4. c3) {[%cbpre 1] bef b4} 4. b4) a6 {praise for a6} 4. Ba4 {and so on} Nf6 \
    {[%cbpre 1] [%cblang de] Jetzt hat Weiss die Wahl} 5. O-O *";

/// The remarks of a record without those at positions of moves that are gone.
fn texts_of(remarks: &[Remark]) -> Vec<(u8, Vec<u8>)> {
    let texts = remarks
        .iter()
        .filter(|(_, kind, _)| matches!(kind, 0x02 | 0x82));
    texts
        .map(|(_, kind, payload)| (*kind, payload.clone()))
        .collect()
}

/// A text before a move is told by the name of the move. Where the move is
/// gone, no other text becomes one.
#[test]
fn removing_a_variation_removes_only_its_own_annotations() {
    for (variation, gone) in [
        ("(3. Bc4 Nf6 {before Ng5} 4. Ng5) ", "before Ng5"),
        ("(3. Bc4 Bc5 (3... d6 4. c3) {bef b4} 4. b4) ", "bef b4"),
    ] {
        for drops_tags in [false, true] {
            let edited = stored_and_edited(WITH_BEFORE, |text| {
                let text = replaced(text, variation, "");
                if drops_tags {
                    without_told(&text)
                } else {
                    text
                }
            });
            let mut expected = texts_of(&edited.old);
            expected.retain(|(_, payload)| !payload.ends_with(gone.as_bytes()));
            assert_eq!(texts_of(&edited.new), expected, "{}", edited.after);
        }
    }
}

/// A new comment leaves the stored one beside it as it is.
#[test]
fn a_comment_before_a_text_before_a_move_belongs_to_the_previous_move() {
    let edited = stored_and_edited(WITH_BEFORE, |text| {
        let text = replaced(text, "{[%cblang de] Jetzt", "{new} {[%cblang de] Jetzt");
        replaced(&text, "{bef b4}", "{also new} {bef b4}")
    });
    let new: Vec<_> = edited
        .new
        .iter()
        .filter(|remark| !edited.old.contains(remark))
        .collect();
    let texts: Vec<_> = new
        .iter()
        .map(|(_, kind, payload)| (*kind, payload[1], &payload[2..]))
        .collect();
    assert_eq!(
        texts,
        [(0x02, 42, &b"new"[..]), (0x02, 42, b"also new")],
        "{}",
        edited.after
    );
    assert!(edited.old.iter().all(|remark| edited.new.contains(remark)));
}

/// A remark behind a variation is about the next move, whatever move a tag names.
#[test]
fn a_remark_behind_a_variation_is_about_the_next_move() {
    let tag = "[CbhBefore \"1...d5\"]";
    for (stored, saved, wanted) in [
        (
            "1. d4 {x} 1... d5 *",
            "1. e4 (1. d4 {x} 1... d5) {new} 1... d5 *",
            "1. e4 (1. d4 {x} 1... d5) {new} 1... d5 *",
        ),
        (
            "1. e4 (1. d4 {x} 1... d5) 1... d5 *",
            "1. e4 (1. c4) {new} 1... d5 *",
            "1. e4 (1. c4) {new} 1... d5 *",
        ),
    ] {
        let edited = stored_and_edited(&format!("{tag} {stored}"), |_| format!("{tag} {saved}"));
        assert!(
            edited.after.trim_end().ends_with(wanted),
            "{}",
            edited.after
        );
    }
}

/// Without the tags an edited text before a move is found by its words.
#[test]
fn an_edited_text_before_a_move_keeps_place_and_language_without_tags() {
    for (old_word, new_word) in [
        ("bef b4", "before b4"),
        ("Ng5} 4.", "it} 4."),
        ("before Ng5", "before Ng5!"),
        ("[%cblang de] Jetzt hat", "[%cblang de] Nun hat"),
        ("quiet developing", "quieter"),
    ] {
        let edited = stored_and_edited(WITH_BEFORE, |text| {
            without_told(&replaced(text, old_word, new_word))
        });
        let heads = |remarks: &[Remark]| -> Vec<_> {
            let head = |(position, kind, payload): &Remark| (*position, *kind, payload[1]);
            remarks.iter().map(head).collect()
        };
        assert_eq!(heads(&edited.old), heads(&edited.new), "{}", edited.after);
    }
}

/// A remark in the place of the only one there is that one, in new words.
#[test]
fn a_remark_that_is_wholly_rewritten_keeps_place_and_language() {
    for old_words in [
        "a quiet developing move",
        "bef b4",
        "before Ng5",
        "praise for a6",
        "and so on",
    ] {
        for drops_tags in [false, true] {
            let edited = stored_and_edited(WITH_BEFORE, |text| {
                let text = replaced(text, &format!("{old_words}}}"), "wholly other}");
                if drops_tags {
                    without_told(&text)
                } else {
                    text
                }
            });
            let heads = |remarks: &[Remark]| -> Vec<_> {
                let head = |(position, kind, payload): &Remark| (*position, *kind, payload[1]);
                remarks.iter().map(head).collect()
            };
            assert_eq!(heads(&edited.old), heads(&edited.new), "{}", edited.after);
        }
    }
}

/// Remarks of the same words are told apart by their places.
#[test]
fn equal_remarks_keep_their_languages_without_tags() {
    let game = "[CbhLang \"en\"] 1. e4 {good} {[%cblang any] good} e5 {[%cblang any] good} 2. Nf3 {good} Nc6 \
        {[%cblang de] good} 3. Bb5 {good} a6 {good} *";
    for (old, new) in [
        ("3... a6", "a6 {new}"),
        (" 2. Nf3", " 2. Nf3 $1"),
        ("3. Bb5 {good}", "3. Bb5 {better}"),
    ] {
        let edited = stored_and_edited(game, |text| without_told(&replaced(text, old, new)));
        let languages = |remarks: &[Remark]| -> Vec<(i32, u8)> {
            let texts = remarks
                .iter()
                .filter(|(_, kind, payload)| *kind == 0x02 && !payload.ends_with(b"new"));
            texts
                .map(|(position, _, payload)| (*position, payload[1]))
                .collect()
        };
        assert_eq!(
            languages(&edited.old),
            languages(&edited.new),
            "{}",
            edited.after
        );
    }
}

/// A name is for the move that it was given for, though another one has it.
#[test]
fn a_new_move_with_the_same_notation_has_no_text_before_it() {
    let game = "1. e4 e5 {[%cbpre 1] the usual move} 2. Nf3 Nc6 *";
    for drops_tags in [false, true] {
        let edited = stored_and_edited(game, |text| {
            let text = replaced(text, "1. e4 e5 ", "1. e4 e5 (1... c5 {sharp} 2. Nf3 d6) ");
            if drops_tags {
                without_told(&text)
            } else {
                text
            }
        });
        let kinds: Vec<_> = edited
            .new
            .iter()
            .map(|(_, kind, payload)| (*kind, &payload[2..]))
            .collect();
        let sharp = (0x02, &b"sharp"[..]);
        assert!(
            kinds.contains(&sharp) && kinds.contains(&(0x82, b"the usual move")),
            "{}",
            edited.after
        );
    }
    // Who names a move means it.
    let edited = stored_and_edited("1. e4 e5 {a usual move} 2. Nf3 Nc6 *", |text| {
        format!("[CbhBefore \"2.Nf3\"]\n{text}")
    });
    assert_eq!(edited.new[0].1, 0x82, "{}", edited.after);
}

/// A variation that becomes the main line keeps the text at its begin.
#[test]
fn a_promoted_variation_keeps_the_text_before_it() {
    let game = "[CbhLang \"en\"] 1. e4 {[%cbpre 1] open} e5 2. Nf3 Nc6 3. Bb5 \
        ({a good alternative} 3. Bc4 Bc5) 3... a6 *";
    let edited = stored_and_edited(game, |text| {
        replaced(
            text,
            "3. Bb5 ({a good alternative} 3. Bc4 Bc5) 3... a6",
            "{a good alternative} 3. Bc4 (3. Bb5 a6) 3... Bc5",
        )
    });
    assert_eq!(
        texts_of(&edited.old),
        texts_of(&edited.new),
        "{}",
        edited.after
    );
}

/// A training question that was imported is shown as it was.
#[test]
fn a_plain_question_is_stored_once() {
    for question in [
        "[%tqu \"En\",\"Win?\",\"Look\",\"\",\"e7e5\",\"Yes\",10]",
        "[%tqu \"De\",\"Zug?\",\"\",\"\",\"e7e5\",\"\",10,\"c7c5\",\"\",3]",
    ] {
        let edited = stored_and_edited(&format!("1. e4 {{{question}}} *"), str::to_owned);
        assert_eq!(edited.old, edited.new);
        assert!(edited.after.contains(question), "{}", edited.after);
        assert!(!edited.after.contains("[%cba"), "{}", edited.after);
    }
}
