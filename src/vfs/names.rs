//! File names, both ways.

use std::fmt::Write as _;

use crate::cbh::GameId;

/// `000123.pgn`; more digits when the number needs them. `name` is replaced.
pub fn format_game(id: GameId, name: &mut String) {
    name.clear();
    // Writing to a string does not fail.
    let _ = write!(name, "{:06}.pgn", id.0);
}

/// The game of this name; only the one name that [`format_game`] gives is its
/// name.
pub fn parse_game(name: &[u8]) -> Option<GameId> {
    let digits = name.strip_suffix(b".pgn")?;
    let is_canonical = match digits {
        [b'0', ..] => digits.len() == 6,
        _ => digits.len() >= 6,
    };
    if !is_canonical || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let id = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (id > 0).then_some(GameId(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_number_with_at_least_six_digits() {
        for (id, expected) in [
            (1, "000001.pgn"),
            (999_999, "999999.pgn"),
            (1_000_000, "1000000.pgn"),
            (u32::MAX, "4294967295.pgn"),
        ] {
            let mut name = String::from("before");
            format_game(GameId(id), &mut name);
            assert_eq!(name, expected);
            assert_eq!(parse_game(expected.as_bytes()), Some(GameId(id)));
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
