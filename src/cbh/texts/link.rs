//! Links in guiding texts: `javascript:CBLink(kind,field,…)`.
//!
//! | kind | fields |
//! |---|---|
//! | `tag_game` | White last, first, Black last, first; then what tells games of the same players apart: title and place of the event, its date, three numbers |
//! | `tag_text` | title; two empty ones; 0 |
//! | `tag_player` | first, last |
//!
//! There is no quoting: a comma within a name looks like a separator. A
//! complete link of a real base: `CBLink(tag_game,Mårdell,Jimmy,Foo,,,, 0 0
//! 0,0,0,0)`.
//!
//! Unconfirmed: the fields for title, place and date are inferred from their
//! position, and from the width of the numbers in the date (2, 2 and 4, blanks
//! for zeros); in all known links they are empty. The three last numbers are
//! ignored.

use crate::game::Date;

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Link {
    /// A game.
    Game(GameMention),
    /// The guiding text with this title.
    Text(String),
}

/// The description of a game in a link. Empty fields match any game.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct GameMention {
    /// White's family and given name.
    pub white: [String; 2],
    /// Black's family and given name.
    pub black: [String; 2],
    /// Title of the event.
    pub title: String,
    /// Place of the event.
    pub place: String,
    /// Year, month and day, 0 where unknown.
    pub date: [u16; 3],
}

impl Link {
    /// Parses an address; `None` unless it links to a game or text.
    pub fn parse(address: &str) -> Option<Link> {
        const SCHEME: &str = "javascript:";
        let (scheme, call) = address.trim().split_at_checked(SCHEME.len())?;
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            return None;
        }
        let call = call.trim().trim_end_matches(';').trim_end();
        let fields = call.strip_prefix("CBLink(")?.strip_suffix(')')?;
        let (kind, fields) = fields.split_once(',')?;
        match kind.trim() {
            "tag_game" => GameMention::parse(fields).map(Link::Game),
            "tag_text" => {
                // The title can contain commas; it comes first.
                let title = fields.rsplitn(4, ',').nth(3)?;
                Some(Link::Text(title.trim().to_owned()))
            }
            _ => None,
        }
    }
}

impl GameMention {
    fn parse(fields: &str) -> Option<GameMention> {
        let mut raw = fields.split(',');
        let mut fields = raw.by_ref().map(|field| field.trim().to_owned());
        let white = [fields.next()?, fields.next()?];
        let black = [fields.next()?, fields.next()?];
        let title = fields.next().unwrap_or_default();
        let place = fields.next().unwrap_or_default();
        Some(GameMention {
            white,
            black,
            title,
            place,
            date: raw.next().and_then(parse_date).unwrap_or_default(),
        })
    }

    /// Returns whether the mentioned date is given and agrees with `date`.
    pub(in crate::cbh) fn has_date(&self, date: Date) -> bool {
        let [year, month, day] = self.date;
        let same = |one: u16, other: u16| one == 0 || one == other;
        year != 0
            && year == date.year
            && same(month, date.month.into())
            && same(day, date.day.into())
    }
}

/// Parses day, month and year from fields of 2, 2 and 4 characters.
fn parse_date(field: &str) -> Option<[u16; 3]> {
    let number = |range: std::ops::Range<usize>| field.get(range)?.trim().parse().ok();
    Some([number(4..8)?, number(2..4)?, number(0..2)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mention(fields: [&str; 6], date: [u16; 3]) -> Link {
        let [a, b, c, d, title, place] = fields.map(str::to_owned);
        Link::Game(GameMention {
            white: [a, b],
            black: [c, d],
            title,
            place,
            date,
        })
    }

    #[test]
    fn links_to_games_name_the_players() {
        for (address, expected) in [
            (
                "javascript:CBLink(tag_game,Mårdell,Jimmy,Foo,,,, 0 0   0,0,0,0)",
                mention(["Mårdell", "Jimmy", "Foo", "", "", ""], [0, 0, 0]),
            ),
            (
                " JavaScript:CBLink(tag_game,A,B,C,D,Open,Graz, 7112003,1,0,0); ",
                mention(["A", "B", "C", "D", "Open", "Graz"], [2003, 11, 7]),
            ),
            (
                "javascript:CBLink(tag_game,A,,B,)",
                mention(["A", "", "B", "", "", ""], [0, 0, 0]),
            ),
        ] {
            assert_eq!(Link::parse(address), Some(expected));
        }
    }

    #[test]
    fn links_to_texts_give_the_title() {
        for (fields, title) in [("My text,,,0", "My text"), ("One, two,,,0", "One, two")] {
            let address = format!("javascript:CBLink(tag_text,{fields})");
            assert_eq!(Link::parse(&address), Some(Link::Text(title.to_owned())));
        }
    }

    #[test]
    fn other_addresses_are_not_links() {
        for address in [
            "",
            "https://example.org",
            "javascript:CBLink(tag_player,Magnus,Carlsen)",
            "javascript:CBLink(tag_game,A,B,C)",
            "javascript:CBLink(tag_text,A)",
            "javascript:CBLink(tag_text",
            "javascript:alert(1)",
            "CBLink(tag_text,A,,,0)",
            "jävascript:CBLink",
        ] {
            assert_eq!(Link::parse(address), None, "{address}");
        }
    }
}
