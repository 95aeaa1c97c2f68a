//! File names of games, texts and what they have in common, both ways.

mod distinct;

pub(crate) use distinct::FileNames;

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

/// `000123.pgn`; more digits when the number needs them. `name` is replaced.
pub fn format_game(number: u32, name: &mut String) {
    name.clear();
    // Thousands are listed at once, so it is done by hand.
    let mut digits = [0; 10];
    let mut rest = number;
    for digit in digits.iter_mut().rev() {
        *digit = (rest % 10) as u8;
        rest /= 10;
    }
    let (optional, always) = digits.split_at(4);
    let optional = optional.iter().skip_while(|digit| **digit == 0);
    for digit in optional.chain(always) {
        name.push(char::from(b'0' + digit));
    }
    name.push_str(PGN);
}

/// The game of this name; only the one name that [`format_game`] gives is its
/// name.
pub fn parse_game(name: &[u8]) -> Option<u32> {
    parse_number(name.strip_suffix(b".pgn")?)
}

/// The game whose number a name begins with, `000123.pgn` or `000123 ….pgn`,
/// whatever follows it.
pub(crate) fn parse_described_game(name: &[u8]) -> Option<u32> {
    let stem = name.strip_suffix(PGN.as_bytes())?;
    let end = stem.iter().position(|byte| *byte == b' ');
    parse_number(stem.get(..end.unwrap_or(stem.len()))?)
}

/// `000123.de.html`, or without a language `000123.html`.
pub(crate) fn format_text(id: u32, language: Option<&str>, extension: &str) -> String {
    match language {
        Some(language) => format!("{id:06}.{language}.{extension}"),
        None => format!("{id:06}.{extension}"),
    }
}

/// The number that the name of a text begins with. Which names it has, only
/// the text can tell.
pub(crate) fn parse_text_number(name: &[u8]) -> Option<u32> {
    let end = name.iter().position(|byte| *byte == b'.')?;
    parse_number(name.get(..end)?)
}

/// The game whose page has this name, `000123.html`.
pub(crate) fn parse_page(name: &str) -> Option<u32> {
    parse_number(stem_of_page(name)?.as_bytes())
}

/// A number of at least six digits, with leading zeros only to make six.
fn parse_number(digits: &[u8]) -> Option<u32> {
    let is_canonical = match digits {
        [b'0', ..] => digits.len() == 6,
        _ => digits.len() >= 6,
    };
    if !is_canonical || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let id = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (id > 0).then_some(id)
}

/// What names of games end in.
const PGN: &str = ".pgn";

/// What names of pages end in.
const PAGE: &str = ".html";

/// Maximum length of a file name in bytes.
pub(crate) const MAX_BYTES: usize = 255;

/// Says why no file can have a name, if it is too long for one.
pub(crate) fn too_long(name: &[u8]) -> Option<String> {
    let is_too_long = name.len() > MAX_BYTES;
    is_too_long.then(|| format!("a name of {} bytes; {MAX_BYTES} are the most", name.len()))
}

/// `name` as a file name: `/` and a leading dot become their wide forms,
/// control characters vanish, blanks at the ends go; NFC; at most 255 bytes.
/// `(none)` if nothing is left.
pub(crate) fn shown(name: &str) -> String {
    let visible: Cow<'_, str> = if name.chars().any(char::is_control) {
        name.chars().filter(|c| !c.is_control()).collect()
    } else {
        name.into()
    };
    let mut composed = visible;
    if !composed.is_ascii() {
        composed = composed.nfc().collect::<String>().into();
    }
    let mut shown = String::with_capacity(composed.len());
    for character in composed.trim().chars() {
        let character = match character {
            '/' => '／',
            '.' if shown.is_empty() => '．',
            other => other,
        };
        if shown.len() + character.len_utf8() > MAX_BYTES {
            break;
        }
        shown.push(character);
    }
    let end = shown.trim_end().len();
    shown.truncate(end);
    if shown.is_empty() {
        shown.push_str("(none)");
    }
    shown
}

/// The name that [`shown`] shows as `directory`, or why there is none.
pub(crate) fn of_directory(directory: &str) -> Result<String, String> {
    if ends_in_id(directory) {
        let why = "cbfs uses such endings to tell entries with the same name apart";
        return Err(format!(
            "\"{directory}\" must not end in ~ and a number: {why}"
        ));
    }
    ensure_shown_as(directory, directory)?;
    let name = directory.replace('\u{ff0f}', "/");
    Ok(match name.strip_prefix('\u{ff0e}') {
        Some(rest) => format!(".{rest}"),
        None => name,
    })
}

/// Says why not, if `name` is not shown as `directory`.
pub(crate) fn ensure_shown_as(name: &str, directory: &str) -> Result<(), String> {
    let shown = shown(name);
    if shown == directory {
        return Ok(());
    }
    Err(format!("\"{directory}\" would be listed as \"{shown}\""))
}

/// Tells `name` from others that are the same: ` ~` and the id are appended,
/// and the name is cut so that all fits.
pub(crate) fn append_id(name: &mut String, id: u32) {
    append_id_within(MAX_BYTES, name, id);
}

/// As [`append_id`], for a name of at most so many bytes.
pub(crate) fn append_id_within(most_bytes: usize, name: &mut String, id: u32) {
    let end = format!(" ~{id}");
    let mut cut = name.len().min(most_bytes - end.len());
    while !name.is_char_boundary(cut) {
        cut -= 1;
    }
    name.truncate(cut);
    name.truncate(name.trim_end().len());
    name.push_str(&end);
}

/// The file that stands for a directory with the name `name`, of the entity
/// `id`. One too long to take the ending is cut and ends in its id, so that it
/// is still told from the others.
pub(crate) fn whole(name: String, id: u32) -> String {
    with_ending(name, id, PGN)
}

/// The page about what has a directory with the name `name`, as
/// [`whole`].
pub(crate) fn page(name: String, id: u32) -> String {
    with_ending(name, id, PAGE)
}

fn with_ending(mut name: String, id: u32, ending: &str) -> String {
    let most_bytes = MAX_BYTES - ending.len();
    if name.len() > most_bytes {
        append_id_within(most_bytes, &mut name, id);
    }
    name.push_str(ending);
    name
}

/// The name without `.pgn`.
pub(crate) fn stem(whole: &str) -> Option<&str> {
    whole.strip_suffix(PGN)
}

/// The name of a page without `.html`.
pub(crate) fn stem_of_page(page: &str) -> Option<&str> {
    page.strip_suffix(PAGE)
}

/// The id that a name ends in, if it does.
pub(crate) fn last_id(name: &str) -> Option<u32> {
    name.rsplit_once(" ~")?.1.parse().ok()
}

/// Whether `name` could be one that [`append_id`] made.
pub(crate) fn ends_in_id(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    stem.len() < name.len() && stem.ends_with(" ~")
}

/// Whether the name of a file says that it is one of PGN, and neither hidden nor the backup
/// of a game.
pub(crate) fn is_pgn(name: &[u8]) -> bool {
    let extension = name.len().checked_sub(4).and_then(|at| name.get(at..));
    let is_pgn = extension.is_some_and(|extension| extension.eq_ignore_ascii_case(b".pgn"));
    is_pgn && !name.starts_with(b".") && !is_backup(name)
}

/// Whether the name is one that programs give to a second file of the name of a PGN file,
/// as they copy it: `week.pgn.~1~`, `week.pgn_`, `week.pgn_1`.
pub(crate) fn is_second_of_its_name(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else {
        return false;
    };
    let is_digit = |c: char| c.is_ascii_digit();
    let first = match name.strip_suffix('~') {
        Some(numbered) => numbered.trim_end_matches(is_digit).strip_suffix(".~"),
        None => name.trim_end_matches(is_digit).strip_suffix('_'),
    };
    first.is_some_and(|first| first.to_ascii_lowercase().ends_with(PGN))
}

/// Whether a name is that of a game and more, such as `000123.pgn.pgn`, as editors name
/// their backups.
fn is_backup(name: &[u8]) -> bool {
    let dot = name.iter().position(|byte| *byte == b'.');
    let game = dot.and_then(|dot| name.split_at_checked(dot + PGN.len()));
    game.is_some_and(|(game, more)| !more.is_empty() && parse_game(game).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_file_of_a_name_is_known_by_its_end() {
        for (name, is_second) in [
            ("week.pgn.~1~", true),
            ("000007.PGN_", true),
            ("week.pgn_12", true),
            ("week.pgn", false),
            ("week.pgn~", false),
            ("week_.pgn", false),
            ("week.pgn.1~", false),
            ("week.txt_", false),
        ] {
            assert_eq!(is_second_of_its_name(name.as_bytes()), is_second, "{name}");
        }
    }

    #[test]
    fn a_name_is_the_number_with_at_least_six_digits() {
        for (id, expected) in [
            (1, "000001.pgn"),
            (999_999, "999999.pgn"),
            (1_000_000, "1000000.pgn"),
            (u32::MAX, "4294967295.pgn"),
        ] {
            let mut name = String::from("before");
            format_game(id, &mut name);
            assert_eq!(name, expected);
            assert_eq!(parse_game(expected.as_bytes()), Some(id));
        }
    }

    #[test]
    fn hidden_files_and_backups_of_games_are_no_new_games() {
        for name in ["new.pgn", "000123-a.pgn", "new.pgn.pgn", "123.PGN"] {
            assert!(is_pgn(name.as_bytes()), "{name}");
        }
        for name in [
            ".new.pgn",
            "000123.pgn.pgn",
            "000123.pgn.old.PGN",
            "new",
            "pgn",
        ] {
            assert!(!is_pgn(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_described_game_is_found_by_the_number_it_begins_with() {
        for (name, id) in [
            ("000123.pgn", Some(123)),
            ("000123 Carlsen-Anand 2013 B90 1-0.pgn", Some(123)),
            ("000123 .pgn", Some(123)),
            ("1234567 a.b.pgn", Some(1_234_567)),
            ("123 a.pgn", None),
            ("0000123 a.pgn", None),
            ("000123-a.pgn", None),
            ("000123 a.PGN", None),
            ("000123 a.pgn~", None),
            ("000000 a.pgn", None),
            (" 000123.pgn", None),
            (".000123 a.pgn", None),
            ("000123 a", None),
            ("", None),
        ] {
            assert_eq!(parse_described_game(name.as_bytes()), id, "{name}");
        }
    }

    #[test]
    fn a_text_is_found_by_the_number_it_begins_with() {
        for (language, name) in [(None, "000005.html"), (Some("de"), "000005.de.html")] {
            assert_eq!(format_text(5, language, "html"), name);
            assert_eq!(parse_text_number(name.as_bytes()), Some(5));
        }
        for name in ["5.html", "000005", "0000005.html", "000000.html", ""] {
            assert_eq!(parse_text_number(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn any_text_becomes_a_file_name() {
        for (text, name) in [
            ("a b.jpg", "a b.jpg"),
            (" a/b\u{7}\n ", "a／b"),
            ("..", "．."),
            ("e\u{301}", "é"),
            (" \0 ", "(none)"),
            ("", "(none)"),
        ] {
            assert_eq!(shown(text), name);
        }
        assert_eq!(shown(&"é".repeat(200)), "é".repeat(127));
    }

    #[test]
    fn names_of_directories_are_read_back() {
        assert_eq!(of_directory("AC／DC").as_deref(), Ok("AC/DC"));
        assert_eq!(of_directory("．NET").as_deref(), Ok(".NET"));
        for impossible in ["Lee ~7", " Lee", ".Lee", "Lee ", "e\u{301}", "(none) ~1"] {
            assert!(of_directory(impossible).is_err(), "{impossible:?}");
        }
    }

    #[test]
    fn an_id_is_appended_within_the_longest_name() {
        for (name, id, expected) in [
            ("Foo", 7, "Foo ~7".to_owned()),
            ("Foo ~7", 8, "Foo ~7 ~8".to_owned()),
            (&"x".repeat(255), 123, format!("{} ~123", "x".repeat(250))),
            (&"é".repeat(127), 12, format!("{} ~12", "é".repeat(125))),
            (
                &format!("{} {}", "x".repeat(250), "yyyy"),
                12,
                format!("{} ~12", "x".repeat(250)),
            ),
            (
                &"x".repeat(255),
                u32::MAX,
                format!("{} ~4294967295", "x".repeat(243)),
            ),
        ] {
            let mut made = name.to_owned();
            append_id(&mut made, id);
            assert_eq!(made, expected);
            assert!(made.len() <= 255);
            assert!(ends_in_id(&made));
        }
    }

    #[test]
    fn the_file_of_a_directory_has_a_name_that_fits() {
        let long = |count| "x".repeat(count);
        for (name, id, expected) in [
            ("Lee".to_owned(), 7, "Lee.pgn".to_owned()),
            (long(251), 7, format!("{}.pgn", long(251))),
            (long(252), 7, format!("{} ~7.pgn", long(248))),
            (
                format!("{} ~7", long(252)),
                7,
                format!("{} ~7.pgn", long(248)),
            ),
            ("é".repeat(127), 12, format!("{} ~12.pgn", "é".repeat(123))),
        ] {
            let made = whole(name, id);
            assert_eq!(made, expected);
            assert!(made.len() <= 255);
            let id_at_end = expected.contains('~').then_some(id);
            assert_eq!(last_id(stem(&made).unwrap()), id_at_end);
        }
    }

    #[test]
    fn a_name_that_ends_in_a_number_of_its_own_is_told() {
        for name in ["Foo ~7", "Foo ~007", "x ~1 ~2"] {
            assert!(ends_in_id(name), "{name}");
        }
        for name in ["~7", "Foo~7", "Foo ~", "Foo ~7x", "Foo ~٣", "7", ""] {
            assert!(!ends_in_id(name), "{name}");
        }
    }

    #[test]
    fn only_the_canonical_name_is_a_game() {
        for name in [
            "1.pgn",
            "00001.pgn",
            "0000001.pgn",
            "0123456.pgn",
            "000000.pgn",
            "000001.PGN",
            "000001",
            "000001.pgn~",
            "+00001.pgn",
            "00000a.pgn",
            "4294967296.pgn",
            "99999999999999999999.pgn",
            ".pgn",
            "",
        ] {
            assert_eq!(parse_game(name.as_bytes()), None, "{name}");
        }
        assert_eq!(parse_game(b"00000\xff.pgn"), None);
    }
}
