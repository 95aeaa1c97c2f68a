//! Comparison of headers as PGN shows them.
//!
//! An edited game was parsed from the PGN text of the stored one. Where the
//! text cannot represent the stored value exactly, for example a control
//! character in a name, the edited value differs although the user did not
//! change it.

use crate::game::{GameLabel, Nation, PlayerName, RatingType, Source, Team, Tournament};

/// Returns whether PGN shows the stored name as `edited`: control characters
/// become blanks, and blanks at both ends may be lost.
pub(in crate::cbh) fn shows(stored: &str, edited: &str) -> bool {
    if stored == edited {
        return true;
    }
    let blank = |c: char| if c.is_ascii_control() { ' ' } else { c };
    let shown: String = stored.chars().map(blank).collect();
    edited == shown || edited == shown.trim()
}

/// As [`shows`], but `?` also stands for an empty name.
fn shows_or_unknown(stored: &str, edited: &str) -> bool {
    shows(stored, edited) || (stored == "?" && edited.is_empty())
}

/// Returns whether PGN shows the stored player as `edited`.
pub(in crate::cbh) fn shows_player(stored: &PlayerName, edited: &PlayerName) -> bool {
    let is_same = shows(&stored.last, &edited.last) && shows(&stored.first, &edited.first);
    // PGN does not show whether a name in one part is the last or the first
    // name.
    is_same
        || (stored.last.is_empty() && edited.first.is_empty() && shows(&stored.first, &edited.last))
}

/// Returns whether both have the same title, place and date in PGN.
pub(in crate::cbh) fn shows_tournament(stored: &Tournament, edited: &Tournament) -> bool {
    shows_or_unknown(&stored.title, &edited.title)
        && shows_or_unknown(&stored.place, &edited.place)
        && stored.start == edited.start
}

/// Returns whether both have the same title in PGN.
pub(in crate::cbh) fn shows_source_title(stored: &Source, edited: &Source) -> bool {
    shows(&stored.title, &edited.title)
}

/// Returns whether PGN shows anything of the team.
pub(in crate::cbh) fn is_shown_in_pgn(team: &Team) -> bool {
    let has_details = team.number != 0 || team.year != 0 || team.is_season;
    team.is_given && (!team.title.is_empty() || team.nation != Nation::NONE || has_details)
}

/// Returns whether PGN shows the stored team as `edited`.
pub(in crate::cbh) fn shows_team(stored: &Team, edited: &Team) -> bool {
    let details = |team: &Team| (team.number, team.is_season, team.year, team.nation);
    match (is_shown_in_pgn(stored), is_shown_in_pgn(edited)) {
        (true, true) => shows(&stored.title, &edited.title) && details(stored) == details(edited),
        (stored, edited) => stored == edited,
    }
}

/// Returns whether PGN shows the stored label as `edited`.
pub(in crate::cbh) fn shows_label(stored: &GameLabel, edited: &GameLabel) -> bool {
    let mut titles = stored.titles.iter().zip(&edited.titles);
    titles.all(|(stored, edited)| shows(stored, edited))
}

/// Returns whether PGN shows both types of rating alike.
pub(in crate::cbh) fn shows_rating_type(stored: RatingType, edited: RatingType) -> bool {
    stored == edited || (stored.is_usual() && edited.is_usual())
}

/// Name of a field in PGN, and its value.
pub(in crate::cbh) type Detail = (&'static str, String);

/// The fields of a tournament that are not part of its key.
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
        ("EventRounds", number(tournament.rounds.into())),
        ("EventCountry", country(tournament.nation)),
        ("EventCategory", number(tournament.category.into())),
    ]
}

/// A number, of which 0 is none.
fn number(number: u32) -> String {
    Some(number)
        .filter(|number| *number != 0)
        .map_or_else(String::new, |number| number.to_string())
}

/// A nation as PGN names it: empty if there is none, its number if it has no name
/// there.
fn country(nation: Nation) -> String {
    match nation.code() {
        Some(code) => code.to_owned(),
        None if nation == Nation::NONE => String::new(),
        None => nation.0.to_string(),
    }
}

/// The fields of a source except its title.
pub(in crate::cbh) fn details_of_source(source: &Source) -> Vec<Detail> {
    vec![
        ("Source", source.publisher.clone()),
        ("SourceDate", source.published.to_string()),
        ("SourceVersion", number(source.version.into())),
        ("SourceVersionDate", source.version_date.to_string()),
        ("SourceQuality", number(source.quality.into())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_pgn_shows_alike_are_equal() {
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
    fn a_team_that_pgn_does_not_show_is_none() {
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
        let of_nation = Team {
            nation: Nation(53),
            ..nameless.clone()
        };
        let titled = Team {
            title: "Baden-Baden".to_owned(),
            ..nameless.clone()
        };
        for shown in [&numbered, &of_nation, &titled] {
            assert!(is_shown_in_pgn(shown));
        }
        let unused = Team {
            is_given: false,
            ..titled.clone()
        };
        assert!(!is_shown_in_pgn(&unused) && !is_shown_in_pgn(&nameless));
    }

    #[test]
    fn a_player_of_one_name_is_the_same_by_either_name() {
        let player = |last: &str, first: &str| PlayerName {
            last: last.to_owned(),
            first: first.to_owned(),
        };
        for (stored, edited, is_same) in [
            (("Tal", "Mihail"), ("Tal", "Mihail"), true),
            (("Tal", "Mihail"), ("Tal", ""), false),
            (("Tal", "Mihail"), ("Tahl", "Mihail"), false),
            (("", "Tal"), ("Tal", ""), true),
            (("", "Tal"), ("Tal", "Mihail"), false),
            (("", "Tal"), ("Tahl", ""), false),
            (("M", "Tal"), ("Tal", ""), false),
        ] {
            let [stored, edited] = [stored, edited].map(|(last, first)| player(last, first));
            assert_eq!(
                shows_player(&stored, &edited),
                is_same,
                "{stored:?} {edited:?}"
            );
        }
    }

    #[test]
    fn an_event_is_the_same_by_title_place_and_start() {
        let event = |title: &str, place: &str, day| Tournament {
            title: title.to_owned(),
            place: place.to_owned(),
            start: crate::game::Date {
                day,
                ..crate::game::Date::default()
            },
            ..Tournament::default()
        };
        let stored = event("Open", "?", 3);
        for (edited, is_same) in [
            (event("Open", "", 3), true),
            (event("Open", "Biel", 3), false),
            (event("Closed", "?", 3), false),
            (event("Open", "?", 4), false),
        ] {
            assert_eq!(shows_tournament(&stored, &edited), is_same, "{edited:?}");
        }
        let mut label = GameLabel::default();
        label.titles[2] = "a\u{1}b".to_owned();
        let mut edited = label.clone();
        edited.titles[2] = "a b".to_owned();
        assert!(shows_label(&label, &edited));
        edited.titles[3] = "more".to_owned();
        assert!(!shows_label(&label, &edited));
    }

    #[test]
    fn details_are_written_as_tags_have_them() {
        let mut event = Tournament::default();
        event.speed.blitz = true;
        event.is_team_event = true;
        (event.rounds, event.category) = (9, 21);
        let details = details_of_tournament(&event);
        let told: Vec<&str> = details.iter().map(|(_, value)| value.trim()).collect();
        assert_eq!(told, ["????.??.??", "teams blitz", "9", "", "21"]);
        let source = Source {
            publisher: "ChessBase".to_owned(),
            version: 2,
            ..Source::default()
        };
        let details = details_of_source(&source);
        let told: Vec<&str> = details.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(told[0], "ChessBase");
        assert_eq!((told.len(), told[2]), (5, "2"));
    }
}
