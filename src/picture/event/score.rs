//! Points of those who take part in an event.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::super::tables::{GameEntry, halves};

/// What one got in an event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventScore {
    pub(super) id: u32,
    /// Half points, and games with a result.
    pub(super) halves: u32,
    pub(super) games: u32,
    /// Half points of the opponents; those are in quarters by the points got from
    /// them.
    pub(super) buchholz: u32,
    pub(super) berger: u32,
    /// The rating, 0 if not given.
    pub(super) elo: u16,
    /// Half points and games against rated opponents, and the sum of their
    /// ratings.
    rated: (u32, u32, u64),
}

impl EventScore {
    /// The rating that the score against rated opponents is worth, as FIDE has it.
    pub(super) fn performance(&self) -> Option<u32> {
        let (halves, games, sum) = self.rated;
        if games == 0 {
            return None;
        }
        let all = u64::from(games);
        let mean = u32::try_from((sum + all / 2) / all).unwrap_or(u32::MAX);
        // Hundredths, rounded.
        let share = (halves * 100 + games) / (games * 2);
        let above = DIFFERENCES.get(share.abs_diff(50) as usize).copied();
        let above = u32::from(above.unwrap_or(0));
        Some(if share < 50 {
            mean.saturating_sub(above)
        } else {
            mean + above
        })
    }
}

/// By how much a rating is above that of the opponents for a score of 50, 51 …
/// 100 hundredths: table 8.1.1 of FIDE's rating regulations.
const DIFFERENCES: [u16; 51] = [
    0, 7, 14, 21, 29, 36, 43, 50, 57, 65, 72, 80, 87, 95, 102, 110, 117, 125, 133, 141, 149, 158,
    166, 175, 184, 193, 202, 211, 220, 230, 240, 251, 262, 273, 284, 296, 309, 322, 336, 351, 366,
    383, 401, 422, 444, 470, 501, 538, 589, 677, 800,
];

/// The scores of all players, best first: by points, then Buchholz, then Berger.
pub(super) fn of(entries: &[GameEntry]) -> Vec<EventScore> {
    let mut places: HashMap<u32, usize> = HashMap::new();
    let mut all: Vec<EventScore> = Vec::new();
    for entry in entries {
        let [white_elo, black_elo] = entry.elo;
        for (id, is_white, own, others) in [
            (entry.white, true, white_elo, black_elo),
            (entry.black, false, black_elo, white_elo),
        ] {
            let place = *places.entry(id).or_insert_with(|| {
                let score = EventScore::default();
                all.push(EventScore { id, ..score });
                all.len() - 1
            });
            let Some(one) = all.get_mut(place) else {
                continue;
            };
            if one.elo == 0 {
                one.elo = own;
            }
            if let Some(got) = halves(entry.result, is_white) {
                one.halves += got;
                one.games += 1;
                if others > 0 {
                    let (halves, games, sum) = one.rated;
                    one.rated = (halves + got, games + 1, sum + u64::from(others));
                }
            }
        }
    }
    let sums: HashMap<u32, u32> = all.iter().map(|one| (one.id, one.halves)).collect();
    for entry in entries {
        for (id, other, is_white) in [
            (entry.white, entry.black, true),
            (entry.black, entry.white, false),
        ] {
            let sum = sums.get(&other).copied().unwrap_or(0);
            let one = places.get(&id).and_then(|place| all.get_mut(*place));
            if let (Some(one), Some(got)) = (one, halves(entry.result, is_white)) {
                // Matches of engines have more games than these can say anything of.
                one.buchholz = one.buchholz.saturating_add(sum);
                one.berger = one.berger.saturating_add(sum.saturating_mul(got));
            }
        }
    }
    sort(&mut all, |one| (one.buchholz, one.berger));
    all
}

/// Puts the best first: by points, then by what is given. Of those that are equal
/// so far the one with the higher rating comes first.
pub(super) fn sort<K: Ord>(scores: &mut [EventScore], tie_breaks: impl Fn(&EventScore) -> K) {
    scores.sort_by_key(|one| Reverse((one.halves, tie_breaks(one), one.elo, Reverse(one.id))));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(halves: u32, games: u32, elo: u32) -> EventScore {
        EventScore {
            rated: (halves, games, u64::from(elo * games)),
            ..EventScore::default()
        }
    }

    #[test]
    fn performance_is_that_of_fide() {
        for (halves, games, elo, expected) in [
            (10, 10, 2500, 2500),
            (14, 10, 2500, 2649),
            (6, 10, 2500, 2351),
            (20, 10, 2500, 3300),
            (0, 10, 2500, 1700),
            // 6½ of 9 are 72 hundredths.
            (13, 9, 2600, 2766),
        ] {
            assert_eq!(score(halves, games, elo).performance(), Some(expected));
        }
        assert_eq!(score(0, 0, 0).performance(), None);
    }

    #[test]
    fn a_match_of_engines_has_scores_however_long_it_is() {
        let draw = GameEntry {
            number: 1,
            white: 1,
            black: 2,
            event: 1,
            teams: [None; 2],
            elo: [3900; 2],
            result: crate::game::GameResult::Draw,
            round: [0; 2],
            date: crate::game::Date::default(),
            eco: None,
            moves: 1,
        };
        let scores = of(&vec![draw; 1_200_000]);
        let told = scores.iter().map(|one| (one.halves, one.performance()));
        assert_eq!(told.collect::<Vec<_>>(), [(1_200_000, Some(3900)); 2]);
    }
}
