//! The first page of a `.ctg`. Only its numbers of pages and games are used,
//! and only as hints; the other values are shown but not interpreted.
//!
//! | offset | size | meaning |
//! |---|---|---|
//! | 0 | 2 | length of this header, 32 |
//! | 2 | 2 | length of a page, 4096 |
//! | 4 | 12 | unknown |
//! | 16 | 4 | number of pages |
//! | 20 | 4 | −1; perhaps the first free page |
//! | 24 | 4 | number of positions, about |
//! | 28 | 4 | number of games the book was made of |
//! | 1024 | 4 | 1; number of options |
//! | 1028 | 4 each | an option's number and value |
//! | 2048 | 8 | unknown |

use crate::book::{BookFacts, HeaderField};
use crate::bytes::ByteReader;

/// Maximum number of options shown; ChessBase writes five.
const MAX_OPTIONS: u16 = 64;

/// Stores the fields of the header in `facts`.
pub(super) fn read(page: &[u8], facts: &mut BookFacts) {
    let mut add = |name, value: Option<u32>| {
        facts.header.extend(value.map(|value| HeaderField {
            file: "ctg",
            name,
            value: value.into(),
        }));
        value
    };
    add("header length", u16_at(page, 0));
    add("page length", u16_at(page, 2));
    add("number at 4", u16_at(page, 4));
    add("number at 6", u16_at(page, 6));
    add("number at 8", u32_at(page, 8));
    add("number at 12", u16_at(page, 12));
    add("number at 14", u16_at(page, 14));
    add("pages", u32_at(page, 16));
    add("number at 20", u32_at(page, 20));
    let positions = add("positions, about", u32_at(page, 24));
    let games = add("games", u32_at(page, 28));
    for (id, value) in options(page) {
        add("option", Some(u32::from(id)));
        add("its value", Some(u32::from(value)));
    }
    add("number at 2048", u32_at(page, 2048));
    add("number at 2052", u32_at(page, 2052));
    facts.positions = positions.map(u64::from);
    facts.games = games.map(u64::from);
}

/// Number of pages according to the header.
pub(super) fn pages(facts: &BookFacts) -> Option<u64> {
    let field = facts.header.iter().find(|field| field.name == "pages")?;
    Some(field.value)
}

fn options(page: &[u8]) -> Vec<(u16, u16)> {
    let mut reader = ByteReader::new(page.get(1024..2048).unwrap_or_default());
    let mut read = || -> Option<Vec<(u16, u16)>> {
        reader.skip(2).ok()?;
        let count = reader.u16_be().ok()?.min(MAX_OPTIONS);
        let option = |_| Some((reader.u16_be().ok()?, reader.u16_be().ok()?));
        (0..count).map(option).collect()
    };
    read().unwrap_or_default()
}

fn u16_at(page: &[u8], at: usize) -> Option<u32> {
    ByteReader::new(page.get(at..)?)
        .u16_be()
        .ok()
        .map(u32::from)
}

fn u32_at(page: &[u8], at: usize) -> Option<u32> {
    ByteReader::new(page.get(at..)?).u32_be().ok()
}
