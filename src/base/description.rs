//! Short descriptions of games: `Carlsen-Anand 2013 B90 1-0`.

use crate::cbh::{EntityId, EntityNames, Summary};
use crate::game::{GameResult, cut};
use crate::names;

/// The most bytes of a player, so that a name has less than 255.
const MOST_BYTES: usize = 80;

/// Stands for an unknown player.
const UNKNOWN_PLAYER: &str = "NN";

/// Appends what is known of a game, each part behind a blank, as a part of a file
/// name.
pub(crate) fn append_description(game: &Summary, players: &EntityNames, name: &mut String) {
    let player = |id: EntityId| last_name(players.get(id).unwrap_or_default());
    let (white, black) = (player(game.white), player(game.black));
    if !(white.is_empty() && black.is_empty()) {
        name.extend([" ", or_unknown(&white), "-", or_unknown(&black)]);
    }
    if game.date.year > 0 {
        name.extend([" ", &game.date.year.to_string()]);
    }
    if let Some(eco) = game.eco {
        name.extend([" ", &eco.to_string()]);
    }
    // A file name has no `/`, and in a shell `*` means any name.
    match game.result.map(GameResult::pgn) {
        Some("1/2-1/2") => name.push_str(" ½-½"),
        None | Some("*") => {}
        Some(result) => name.extend([" ", result]),
    }
}

fn or_unknown(name: &str) -> &str {
    if name.is_empty() {
        UNKNOWN_PLAYER
    } else {
        name
    }
}

/// The last name of a player, as a part of a file name; empty if there is none.
fn last_name(name: &str) -> String {
    let last = name.split_once(',').map_or(name, |(last, _)| last);
    let shown = names::shown(last);
    if shown == names::shown("") || shown == "?" {
        return String::new();
    }
    cut(&shown, MOST_BYTES).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_is_a_part_of_a_file_name() {
        for (name, last) in [
            ("Carlsen, Magnus", "Carlsen"),
            ("van der Wiel, John", "van der Wiel"),
            ("AC/DC", "AC／DC"),
            (", Magnus", ""),
            ("?", ""),
            ("\n", ""),
            ("", ""),
        ] {
            assert_eq!(last_name(name), last, "{name:?}");
        }
        assert_eq!(last_name(&"é".repeat(60)), "é".repeat(40));
    }
}
