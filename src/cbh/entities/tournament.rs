//! Tournaments, `.cbt`: title (40 bytes), place (30), first day (i32), type
//! (u8), bit 0 of a byte: team event, nation (u8), 0, category (u8), flags
//! (u8), rounds (u8).
//!
//! Type: low five bits kind of event; bit 5 blitz, 6 rapid, 7 correspondence.

use std::cmp::{Ordering, Reverse};

use super::collation::{Collation, compare_strings};
use super::{EntityLayout, Fields, read_string};
use crate::bytes::{ByteReader, Malformed};
use crate::cbh::{CodePage, date};
use crate::game::{Date, EventKind, Nation, Speed, Tournament};

/// The records of `.cbt`.
#[derive(Debug)]
pub(crate) enum Tournaments {}

/// Offset of the flags in the data.
pub(crate) const EVENT_FLAGS: usize = 79;

/// Mask of the kind of event.
const FORM: u8 = 0x1f;

impl EntityLayout for Tournaments {
    type Value = Tournament;

    const DATA_BYTES: usize = 90;

    const STRINGS: &'static [usize] = &[40, 30];

    fn decode(data: &[u8], page: CodePage, value: &mut Tournament) -> Result<(), Malformed> {
        let mut reader = ByteReader::new(data);
        read_string(&mut reader, 40, page, &mut value.title)?;
        read_string(&mut reader, 30, page, &mut value.place)?;
        value.start = date::decode(reader.u32_le()?);
        let kind = reader.u8()?;
        value.kind = event_kind(kind & FORM);
        value.speed = Speed {
            blitz: kind & 0x20 != 0,
            rapid: kind & 0x40 != 0,
            correspondence: kind & 0x80 != 0,
        };
        value.is_team_event = reader.u8()? & 1 != 0;
        value.nation = Nation(reader.u8()?);
        reader.skip(1)?;
        value.category = reader.u8()?;
        reader.skip(1)?;
        value.rounds = reader.u8()?;
        // The last day is in `.cbtt`.
        value.end = Date::UNKNOWN;
        Ok(())
    }

    fn encode(value: &Tournament, fields: &mut Fields<'_>) -> Result<(), Malformed> {
        fields.string("Event", 40, &value.title)?;
        fields.string("Site", 30, &value.place)?;
        fields.date(value.start)?;
        let [kind] = fields.patch.array()?;
        let form = if event_kind(*kind & FORM) == value.kind {
            *kind & FORM
        } else {
            number_of(value.kind)
        };
        *kind = form
            | u8::from(value.speed.blitz) << 5
            | u8::from(value.speed.rapid) << 6
            | u8::from(value.speed.correspondence) << 7;
        let [team_event] = fields.patch.array()?;
        *team_event = *team_event & !1 | u8::from(value.is_team_event);
        fields.patch.put([value.nation.0])?;
        fields.patch.skip(1)?;
        fields.patch.put([value.category])?;
        fields.patch.skip(1)?;
        fields.patch.put([value.rounds])
    }

    /// Sorted by year (latest first), title, place, month and day (latest
    /// first).
    fn compare(one: &[u8], other: &[u8], collation: Collation) -> Result<Ordering, Malformed> {
        let (mut one, mut other) = (ByteReader::new(one), ByteReader::new(other));
        let names = compare_strings(&mut one, &mut other, Self::STRINGS, collation)?;
        let [one, other] = [date::decode(one.u32_le()?), date::decode(other.u32_le()?)];
        let day = |start: Date| Reverse((start.month, start.day));
        Ok(Reverse(one.year)
            .cmp(&Reverse(other.year))
            .then(names)
            .then(day(one).cmp(&day(other))))
    }
}

/// The kind of event with this number; unknown numbers are
/// [`EventKind::Unknown`].
pub(crate) fn event_kind(number: u8) -> EventKind {
    match number {
        1 => EventKind::Game,
        2 => EventKind::Match,
        3 => EventKind::RoundRobin,
        4 => EventKind::Swiss,
        5 => EventKind::Team,
        6 => EventKind::KnockOut,
        7 => EventKind::Simultaneous,
        8 => EventKind::Scheveningen,
        _ => EventKind::Unknown,
    }
}

/// The number of a kind of event.
fn number_of(kind: EventKind) -> u8 {
    match kind {
        EventKind::Unknown => 0,
        EventKind::Game => 1,
        EventKind::Match => 2,
        EventKind::RoundRobin => 3,
        EventKind::Swiss => 4,
        EventKind::Team => 5,
        EventKind::KnockOut => 6,
        EventKind::Simultaneous => 7,
        EventKind::Scheveningen => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::entities::{Entity, NameForm};

    #[test]
    fn what_no_field_is_for_stays_in_a_record() {
        let stored: Vec<u8> = (0..90)
            .map(|at| if at < 70 { 0 } else { 0xa0 + at })
            .collect();
        let page = CodePage::WESTERN;
        let mut value = Tournament::default();
        Tournaments::decode(&stored, page, &mut value).unwrap();
        let form = NameForm {
            page,
            is_utf8: false,
        };
        let over = |stored: &[u8], value: &Tournament| {
            let entity = Entity::Tournament(value.clone());
            entity.encode(Some(stored), form).unwrap().data
        };
        let encoded = |value: &Tournament| over(&stored, value);
        assert_eq!(encoded(&value), stored);
        let changed = |at: usize, change: &dyn Fn(&mut Tournament)| {
            let mut other = value.clone();
            change(&mut other);
            let data = encoded(&other);
            let changed: Vec<usize> = (0..90).filter(|&at| data[at] != stored[at]).collect();
            assert_eq!(changed, [at]);
            data[at]
        };
        assert_eq!(stored[74..76], [0xea, 0xeb]);
        assert_eq!(changed(75, &|event| event.is_team_event = false), 0xea);
        assert_eq!(changed(74, &|event| event.kind = EventKind::Swiss), 0xe4);
        assert_eq!(changed(74, &|event| event.speed.blitz = false), 0xca);
        assert_eq!(changed(74, &|event| event.speed.rapid = false), 0xaa);
        assert_eq!(
            changed(74, &|event| event.speed.correspondence = false),
            0x6a
        );
        let mut swiss = value.clone();
        swiss.kind = EventKind::Swiss;
        // A number of no kind is lost with another kind.
        assert_eq!(over(&encoded(&swiss), &value)[74], 0xe0);
        assert_eq!(changed(76, &|event| event.nation = Nation(7)), 7);
        assert_eq!(changed(78, &|event| event.category = 9), 9);
        assert_eq!(changed(80, &|event| event.rounds = 11), 11);
    }

    #[test]
    fn each_kind_of_event_has_a_number() {
        let kinds: Vec<_> = (0..=9).map(event_kind).collect();
        assert_eq!(kinds[0], EventKind::Unknown);
        assert_eq!(kinds[9], EventKind::Unknown);
        let numbers: Vec<u8> = kinds[..9].iter().map(|kind| number_of(*kind)).collect();
        assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
