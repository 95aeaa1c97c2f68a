//! What a segment has of each game.

use crate::game::{Date, GameResult};
use crate::search::source::SearchedHeader;

/// Bytes of a game in the file.
pub(super) const GAME_BYTES: u64 = 16;

const RESULTS: [GameResult; 8] = [
    GameResult::BlackWon,
    GameResult::Draw,
    GameResult::WhiteWon,
    GameResult::Line,
    GameResult::BlackWonByForfeit,
    GameResult::DrawByForfeit,
    GameResult::WhiteWonByForfeit,
    GameResult::BothLost,
];

/// The mark that stands for that of a game; 0 stands for none.
pub(super) fn kept_mark(mark: u64) -> u64 {
    mark.max(1)
}

/// Facts of a header that statistics count, in bits: game exists, deleted,
/// three for the result, unreadable; from bit 16 on, both ratings and the year,
/// 16 bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::search) struct GameBits(pub(super) u64);

impl GameBits {
    const UNREADABLE: u64 = 1 << 5;

    pub(super) fn of(header: &SearchedHeader) -> GameBits {
        let result = RESULTS.iter().position(|one| *one == header.result);
        let result = result.unwrap_or_default() as u64;
        let [white, black] = header.elo.map(u64::from);
        let flags = 1 | u64::from(header.is_deleted) << 1 | result << 2;
        GameBits(flags | white << 16 | black << 32 | u64::from(header.date.year) << 48)
    }

    /// The same of a game that cannot be read.
    pub(super) fn unreadable(self) -> GameBits {
        GameBits(self.0 | GameBits::UNREADABLE)
    }

    pub(super) fn is_unreadable(self) -> bool {
        self.0 & GameBits::UNREADABLE != 0
    }

    /// Whether they are those of this header.
    pub(super) fn are_of(self, header: &SearchedHeader) -> bool {
        self.0 & !GameBits::UNREADABLE == GameBits::of(header).0
    }

    /// Whether there is such a game.
    pub(in crate::search) fn is_there(self) -> bool {
        self.0 & 1 != 0
    }

    /// Whether it is there and not deleted.
    pub(in crate::search) fn counts(self) -> bool {
        self.0 & 3 == 1
    }

    /// As much of the header.
    pub(in crate::search) fn header(self, number: u32) -> SearchedHeader {
        let [_, white, black, year] =
            [0, 16, 32, 48].map(|shift| u16::try_from(self.0 >> shift & 0xffff).unwrap_or(0));
        SearchedHeader {
            number,
            is_deleted: self.0 & 2 != 0,
            result: RESULTS
                .get((self.0 >> 2 & 7) as usize)
                .copied()
                .unwrap_or_default(),
            elo: [white, black],
            date: Date {
                year,
                ..Date::default()
            },
            ..SearchedHeader::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_all_that_statistics_count() {
        for result in RESULTS {
            for is_deleted in [false, true] {
                let header = SearchedHeader {
                    number: 7,
                    is_deleted,
                    result,
                    elo: [u16::MAX, 2],
                    date: Date {
                        year: 4095,
                        ..Date::default()
                    },
                    ..SearchedHeader::default()
                };
                let facts = GameBits::of(&header);
                assert_eq!(format!("{:?}", facts.header(7)), format!("{header:?}"));
                assert!(facts.is_there() && facts.counts() != is_deleted);
            }
        }
        assert!(!GameBits::default().is_there());
    }
}
