//! Naming an entity: the inverse of [`Entity::name`].

use super::Entity;
use crate::game::{Date, PlayerName, Tournament};

impl Entity {
    /// Gives the entity the name `name`, in the form of [`name`](Entity::name).
    /// Fields that the name does not show keep their values.
    ///
    /// # Errors
    ///
    /// The reason, for the user: the name of a tournament lacks a part that the
    /// tournament has.
    pub fn rename(&mut self, name: &str) -> Result<(), String> {
        match self {
            Entity::Player(player) => *player = player_of(name),
            Entity::Tournament(tournament) => call_tournament(tournament, name)?,
            Entity::Annotator(annotator) => name.clone_into(annotator),
            Entity::Source(source) => name.clone_into(&mut source.title),
            Entity::Team(team) => name.clone_into(&mut team.title),
            Entity::Tag(_) => {}
        }
        Ok(())
    }
}

fn player_of(name: &str) -> PlayerName {
    let (last, first) = name.split_once(", ").unwrap_or((name, ""));
    PlayerName {
        last: last.to_owned(),
        first: first.to_owned(),
    }
}

/// Sets the name of a tournament from `Title (Place) Year`. The present
/// tournament decides which parts are expected: without a date no number is
/// read as the year, without a place no parenthesis as the place. A name that
/// lacks an expected part is refused; it does not mean that the part is to be
/// removed.
fn call_tournament(tournament: &mut Tournament, name: &str) -> Result<(), String> {
    let (old_year, has_place) = (tournament.start.year, !is_blank(&tournament.place));
    let year = (old_year > 0).then(|| split_year(name, old_year));
    let (rest, year) = match year {
        Some(Some((rest, year))) => (rest, Some(year)),
        Some(None) => (name, None),
        None => (name, Some(0)),
    };
    let place = has_place.then(|| split_place(rest, tournament));
    let (title, place) = match place {
        Some(Some((title, place))) => (title, Some(place)),
        Some(None) => (rest, None),
        None => (rest, Some(tournament.place.as_str())),
    };
    let has_lost_title = is_blank(title) && !is_blank(&tournament.title);
    let (Some(place), Some(year), false) = (place, year, has_lost_title) else {
        let missing = [
            ("title", has_lost_title),
            ("place", place.is_none()),
            ("year", year.is_none()),
        ];
        let missing: Vec<_> = missing
            .iter()
            .filter_map(|(part, is_missing)| is_missing.then_some(*part))
            .collect();
        let missing = missing.join(" and ");
        let form = match (has_place, old_year > 0) {
            (true, true) => "Title (Place) Year",
            (true, false) => "Title (Place), as it has no date",
            (false, true) => "Title Year, as it has no place",
            (false, false) => "by its title, as it has no place and no date",
        };
        let why = format!("this tournament is named {form}; \"{name}\" has no {missing} there");
        return Err(why);
    };
    tournament.place = place.to_owned();
    title.clone_into(&mut tournament.title);
    tournament.start = in_year(tournament.start, year);
    Ok(())
}

/// A part that consists of blanks is not listed.
fn is_blank(part: &str) -> bool {
    part.trim().is_empty()
}

/// Splits a name that ends in a year of four digits, or in `old`. Returns the
/// part before it and the year.
fn split_year(name: &str, old: u16) -> Option<(&str, u16)> {
    let (rest, word) = name.rsplit_once(' ').unwrap_or(("", name));
    let is_plain = !word.starts_with('0') && word.bytes().all(|byte| byte.is_ascii_digit());
    let year = word.parse().ok().filter(|_| is_plain)?;
    let is_year = year == old || (1000..4096).contains(&year);
    is_year.then_some((rest, year))
}

/// Title and place of `Title (Place)`. Both may have parentheses: the place
/// is the one that the tournament has, or what the last pair of them holds,
/// or what follows the title that it has.
fn split_place<'n>(name: &'n str, tournament: &Tournament) -> Option<(&'n str, &'n str)> {
    let without = name.strip_suffix(')')?;
    let split_at = |at: usize| {
        let (title, place) = without.split_at_checked(at)?;
        let title = match title {
            "" => title,
            title => title.strip_suffix(' ')?,
        };
        Some((title, place.strip_prefix('(')?)).filter(|(_, place)| !is_blank(place))
    };
    let same_place = (without.strip_suffix(tournament.place.as_str()))
        .and_then(|before| before.strip_suffix('('))
        .and_then(|before| split_at(before.len()));
    let same_title = || {
        let rest = without.strip_prefix(tournament.title.as_str())?;
        split_at(without.len() - rest.strip_prefix(' ')?.len())
    };
    same_place
        .or_else(|| split_at(opening_of(without)?))
        .or_else(same_title)
}

/// The same day of another year; the year alone if it has no such day.
fn in_year(date: Date, year: u16) -> Date {
    let moved = Date { year, ..date };
    let has_day = match (moved.month, moved.day) {
        (2, 29) => {
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
        }
        (2, day) => day <= 28,
        (4 | 6 | 9 | 11, day) => day <= 30,
        (month, day) => month <= 12 && day <= 31,
    };
    if has_day || year == date.year {
        return moved;
    }
    Date {
        year,
        ..Date::UNKNOWN
    }
}

/// Where the parenthesis is opened that ends behind `text`.
fn opening_of(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, character) in text.char_indices().rev() {
        match character {
            ')' => depth += 1,
            '(' if depth == 0 => return Some(at),
            '(' => depth -= 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tournament(title: &str, place: &str, start: Date) -> Tournament {
        Tournament {
            title: title.to_owned(),
            place: place.to_owned(),
            start,
            ..Tournament::default()
        }
    }

    fn in_the_year(year: u16) -> Date {
        Date {
            year,
            ..Date::UNKNOWN
        }
    }

    #[test]
    fn a_tournament_is_called_by_the_parts_that_it_has() {
        for (title, place, year, name, wanted) in [
            (
                "Linares",
                "Linares",
                1999,
                "Linares 2 (Linares) 1999",
                ("Linares 2", "Linares", 1999),
            ),
            (
                "Linares",
                "Linares",
                1999,
                "Linares (Jaén) 2000",
                ("Linares", "Jaén", 2000),
            ),
            (
                "Linares",
                "",
                1999,
                "Linares (Jaén) 1999",
                ("Linares (Jaén)", "", 1999),
            ),
            (
                "Open Group 3",
                "",
                0,
                "Open Group 4",
                ("Open Group 4", "", 0),
            ),
            ("Cup 23", "", 0, "Cup 24", ("Cup 24", "", 0)),
            ("Cup 23", "", 0, "Cup 1999", ("Cup 1999", "", 0)),
            ("Cup", "", 0, "476", ("476", "", 0)),
            ("Cup 23", "", 2001, "Cup 24 2001", ("Cup 24", "", 2001)),
            ("Cup (Men)", "", 0, "Cup (Women)", ("Cup (Women)", "", 0)),
            (
                "Cup (Men)",
                "Graz",
                0,
                "Cup (Women) (Graz)",
                ("Cup (Women)", "Graz", 0),
            ),
            (
                "Cup",
                "Graz (Austria)",
                0,
                "Cup (Linz (Austria))",
                ("Cup", "Linz (Austria)", 0),
            ),
            ("Cup", "a) (b", 0, "Cup 2 (a) (b)", ("Cup 2", "a) (b", 0)),
            ("Cup", "a (", 0, "Cup (b ()", ("Cup", "b (", 0)),
            ("Cup ", "Graz", 0, "Cup  (Linz)", ("Cup ", "Linz", 0)),
            ("", "Linares", 1999, "(Jaén) 1999", ("", "Jaén", 1999)),
            (
                "",
                "Linares",
                1999,
                "Open (Linares) 1999",
                ("Open", "Linares", 1999),
            ),
            ("", "", 476, "476", ("", "", 476)),
            ("", "", 476, "Open 477", ("", "", 0)),
            ("", "", 476, "Open 1477", ("Open", "", 1477)),
            ("", "", 0, "Open", ("Open", "", 0)),
            ("Open", "Graz", 0, "Open", ("", "", 0)),
            ("Open", "Graz", 0, "Open(Graz)", ("", "", 0)),
            ("Open", "Graz", 0, "(Graz)", ("", "", 0)),
            ("Open", "", 2001, "Open 0476", ("", "", 0)),
            ("Open", "", 2001, "Open 9999", ("", "", 0)),
            ("Open", "", 2001, "Open 23", ("", "", 0)),
            ("Open", "", 2001, "2001", ("", "", 0)),
        ] {
            let mut called = tournament(title, place, in_the_year(year));
            let done = call_tournament(&mut called, name);
            if wanted == ("", "", 0) {
                assert!(done.is_err(), "{name}");
                continue;
            }
            done.unwrap();
            let Tournament {
                title,
                place,
                start,
                ..
            } = &called;
            assert_eq!(
                (title.as_str(), place.as_str(), start.year),
                wanted,
                "{name}"
            );
            assert_eq!(Entity::Tournament(called).name(), name);
        }
    }

    #[test]
    fn a_refused_name_is_told_which_parts_this_tournament_has() {
        let mut undated = tournament("Cup", "Graz", Date::UNKNOWN);
        let why = call_tournament(&mut undated, "Cup (Graz) 2020");
        assert_eq!(
            why.unwrap_err(),
            "this tournament is named Title (Place), as it has no date; \"Cup (Graz) 2020\" has no \
             place there"
        );
    }

    #[test]
    fn the_first_day_stays_where_the_year_has_it() {
        let date = |year, month, day| Date { year, month, day };
        for (start, name, expected) in [
            (date(1999, 2, 20), "Other 1999", date(1999, 2, 20)),
            (date(1999, 2, 20), "Other 2000", date(2000, 2, 20)),
            (date(2000, 2, 29), "Other 2004", date(2004, 2, 29)),
            (date(2000, 2, 29), "Other 1900", date(1900, 0, 0)),
            (date(1999, 4, 31), "Other 1999", date(1999, 4, 31)),
            (date(1999, 4, 31), "Other 2000", date(2000, 0, 0)),
            (date(1999, 13, 1), "Other 2000", date(2000, 0, 0)),
            (date(1999, 5, 0), "Other 2000", date(2000, 5, 0)),
            (date(0, 5, 1), "Other 2000", date(0, 5, 1)),
        ] {
            let mut tournament = tournament("One", "", start);
            call_tournament(&mut tournament, name).unwrap();
            assert_eq!(tournament.start, expected, "{start} {name}");
        }
    }

    #[test]
    fn a_player_has_the_first_name_behind_the_first_comma() {
        let mut player = Entity::Player(PlayerName::default());
        player.rename("Kasparov, Garry, Jr").unwrap();
        let Entity::Player(PlayerName { last, first }) = &player else {
            panic!("it is a player");
        };
        assert_eq!((last.as_str(), first.as_str()), ("Kasparov", "Garry, Jr"));
        assert_eq!(player.name(), "Kasparov, Garry, Jr");
    }
}
