//! Whether headers say the same, as far as PGN can show them.
//!
//! An edited game comes from the text of the stored one. Where the text
//! cannot show what is stored, as control characters in a name, the edited
//! game has something else without anybody having edited it.

use crate::game::{GameTag, Nation, PlayerName, RatingType, Source, Team, Tournament};

/// Whether `edited` is what PGN shows of a stored name: control characters
/// are blanks in it, and edges may lose theirs.
pub(in crate::cbh) fn shows(stored: &str, edited: &str) -> bool {
    if stored == edited {
        return true;
    }
    let blank = |c: char| if c.is_ascii_control() { ' ' } else { c };
    let shown: String = stored.chars().map(blank).collect();
    edited == shown || edited == shown.trim()
}

/// As [`shows`], where `?` stands for nothing.
fn shows_or_unknown(stored: &str, edited: &str) -> bool {
    shows(stored, edited) || (stored == "?" && edited.is_empty())
}

/// Whether both are one player.
pub(in crate::cbh) fn shows_player(stored: &PlayerName, edited: &PlayerName) -> bool {
    let is_same = shows(&stored.last, &edited.last) && shows(&stored.first, &edited.first);
    // Of a name in one part PGN does not tell which it is.
    is_same
        || (stored.last.is_empty() && edited.first.is_empty() && shows(&stored.first, &edited.last))
}

/// Whether both are one tournament, whatever else is known of it.
pub(in crate::cbh) fn shows_tournament(stored: &Tournament, edited: &Tournament) -> bool {
    shows_or_unknown(&stored.title, &edited.title)
        && shows_or_unknown(&stored.place, &edited.place)
        && stored.start == edited.start
}

/// Whether both are one source, whatever else is known of it.
pub(in crate::cbh) fn shows_source_title(stored: &Source, edited: &Source) -> bool {
    shows(&stored.title, &edited.title)
}

/// Whether a team has anything that PGN shows.
pub(in crate::cbh) fn is_told(team: &Team) -> bool {
    let has_details = team.number != 0 || team.year != 0 || team.is_season;
    team.is_given && (!team.title.is_empty() || team.nation != Nation::NONE || has_details)
}

/// Whether both are one team, or none.
pub(in crate::cbh) fn shows_team(stored: &Team, edited: &Team) -> bool {
    let details = |team: &Team| (team.number, team.is_season, team.year, team.nation);
    match (is_told(stored), is_told(edited)) {
        (true, true) => shows(&stored.title, &edited.title) && details(stored) == details(edited),
        (stored, edited) => stored == edited,
    }
}

/// Whether both are one label, or none.
pub(in crate::cbh) fn shows_label(stored: &GameTag, edited: &GameTag) -> bool {
    let mut titles = stored.titles.iter().zip(&edited.titles);
    titles.all(|(stored, edited)| shows(stored, edited))
}

/// Whether both ratings are of one kind.
pub(in crate::cbh) fn shows_rating_type(stored: RatingType, edited: RatingType) -> bool {
    stored == edited || (stored.is_usual() && edited.is_usual())
}

/// A field as PGN calls it, and its value.
pub(in crate::cbh) type Detail = (&'static str, String);

/// What is known of a tournament beside what tells it from others.
pub(in crate::cbh) fn details_of_tournament(tournament: &Tournament) -> Vec<Detail> {
    let speed = tournament.speed;
    let words = [
        (tournament.is_team_event, "teams"),
        (speed.blitz, "blitz"),
        (speed.rapid, "rapid"),
        (speed.correspondence, "corr"),
    ];
    let mut form = tournament.kind.pgn().unwrap_or_default().to_owned();
    for (_, word) in words.into_iter().filter(|(is_so, _)| *is_so) {
        form.push(' ');
        form.push_str(word);
    }
    vec![
        ("EventEndDate", tournament.end.to_string()),
        ("EventType", form),
        ("EventRounds", tournament.rounds.to_string()),
        ("EventCountry", tournament.nation.0.to_string()),
        ("EventCategory", tournament.category.to_string()),
    ]
}

/// What is known of a source beside its title.
pub(in crate::cbh) fn details_of_source(source: &Source) -> Vec<Detail> {
    vec![
        ("Source", source.publisher.clone()),
        ("SourceDate", source.published.to_string()),
        ("SourceVersion", source.version.to_string()),
        ("SourceVersionDate", source.version_date.to_string()),
        ("SourceQuality", source.quality.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_same_when_the_text_shows_it_so() {
        for (stored, edited, is_same) in [
            ("Carlsen", "Carlsen", true),
            ("Carl\u{1}sen", "Carl sen", true),
            ("Carlsen\u{2}", "Carlsen", true),
            ("Carlsen", "carlsen", false),
            ("Carlsen", "Carl\u{1}sen", false),
            ("Carlsen", "", false),
        ] {
            assert_eq!(shows(stored, edited), is_same, "{stored:?} {edited:?}");
        }
        assert!(shows_or_unknown("?", ""));
        assert!(!shows_or_unknown("", "?"));
    }

    #[test]
    fn a_team_of_which_nothing_is_told_is_none() {
        let nameless = Team {
            is_given: true,
            ..Team::default()
        };
        assert!(shows_team(&nameless, &Team::default()));
        let numbered = Team {
            number: 2,
            ..nameless.clone()
        };
        assert!(!shows_team(&nameless, &numbered));
        assert!(shows_team(&numbered, &numbered));
    }
}
