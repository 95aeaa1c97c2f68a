//! `years/`: games by the year they were played in, `years/1999/`, and those
//! of none in `years/unknown/`.

use super::super::DatabaseVolume;
use super::super::groups::format_name;
use super::RootView;
use crate::cbh::GameGroup;
use crate::fs::Error;
use crate::fs::volume::{Ino, Listing, Node};

/// Years have 12 bits.
pub(in super::super) const YEARS: u16 = 1 << 12;

/// `years/`
#[derive(Debug)]
pub(in super::super) struct Years;

impl Years {
    pub(in super::super) const NUMBER: Ino = Ino(12);

    /// All years in order, the unknown one first.
    pub(super) fn all() -> impl Iterator<Item = GameGroup> {
        (0..YEARS).map(GameGroup::Year)
    }

    /// The group of this name: `1999` or `unknown`.
    pub(super) fn parse(name: &[u8]) -> Option<GameGroup> {
        let group = match name {
            b"unknown" => GameGroup::Year(0),
            digits => {
                let year = std::str::from_utf8(digits).ok()?.parse().ok()?;
                GameGroup::Year(Some(year).filter(|year| *year < YEARS)?)
            }
        };
        // It has one name only.
        let mut formatted = String::new();
        format_name(group, &mut formatted);
        (formatted.as_bytes() == name).then_some(group)
    }
}

impl RootView for Years {
    fn node(&self, base: &DatabaseVolume, ino: Ino) -> Result<Node, Error> {
        Ok(base.directory_node(ino, 1))
    }

    fn lookup(&self, base: &DatabaseVolume, _: Ino, name: &[u8]) -> Result<Node, Error> {
        base.group_node(Years::parse(name).ok_or(Error::NotFound)?)
    }

    fn list(
        &self,
        base: &DatabaseVolume,
        _: Ino,
        after: u64,
        listing: &mut Listing<'_>,
    ) -> Result<(), Error> {
        base.list_groups((3..).zip(Years::all()), after, listing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_has_one_name() {
        let mut name = String::new();
        for year in Years::all() {
            format_name(year, &mut name);
            assert_eq!(Years::parse(name.as_bytes()), Some(year), "{name}");
        }
        assert_eq!(name, "4095");
        for other in ["4096", "0000", "476", "01999", "+999", "Unknown", ""] {
            assert_eq!(Years::parse(other.as_bytes()), None, "{other}");
        }
    }
}
