//! Whether a record of annotations has the shape that records have.

use super::{HEAD_BYTES, MARK, REMARK_HEAD_BYTES, remarks};
use crate::bytes::{ByteReader, Malformed};

/// The shape of a record. Offsets are those in the record.
#[derive(Debug)]
pub(in crate::cbh) struct Shape {
    /// Game id, mark and number of remarks + 1, as the head says.
    head: Option<(u32, [u8; 4], u32)>,
    /// How many remarks could be read.
    count: u32,
    /// Whether their positions ascend.
    pub(super) is_sorted: bool,
    /// How many have a position without a ply, and where the first is.
    strays: u32,
    first_stray: usize,
    /// Where the record is no sequence of remarks any more.
    damage: Option<Malformed>,
}

impl Shape {
    /// The shape of a record of a game of so many plies; `None` if that is
    /// not known.
    pub(in crate::cbh) fn of(record: &[u8], plies: Option<usize>) -> Shape {
        let mut shape = Shape {
            head: head(record),
            count: 0,
            is_sorted: true,
            strays: 0,
            first_stray: 0,
            damage: None,
        };
        let end = plies.and_then(|plies| i64::try_from(plies).ok());
        let positions = -1..end.unwrap_or(i64::MAX);
        let (mut offset, mut before) = (HEAD_BYTES, i32::MIN);
        let mut remarks = remarks(record);
        for remark in remarks.by_ref() {
            shape.count += 1;
            shape.is_sorted &= before <= remark.position;
            before = remark.position;
            if !positions.contains(&i64::from(remark.position)) {
                if shape.strays == 0 {
                    shape.first_stray = offset;
                }
                shape.strays += 1;
            }
            offset += REMARK_HEAD_BYTES + remark.payload.len();
        }
        shape.damage = remarks.damage;
        shape
    }

    /// Whether all remarks could be read.
    pub(in crate::cbh) fn is_whole(&self) -> bool {
        self.head.is_some() && self.damage.is_none()
    }

    /// The game that a whole record names, if it is another than `id`.
    pub(in crate::cbh) fn other_name(&self, id: u32) -> Option<u32> {
        let (game_id, mark, _) = self.head.filter(|_| self.is_whole())?;
        (game_id != id && mark == MARK).then_some(game_id)
    }

    /// The faults because of which a save would lose something: damage,
    /// remarks on moves that the game does not have, remarks that are counted
    /// and not there.
    pub(in crate::cbh) fn losses(&self) -> Vec<Malformed> {
        let mut faults: Vec<Malformed> = self.damage.iter().cloned().collect();
        let strays = self.strays;
        if strays > 0 {
            let what = format!("annotations on moves that the game does not have: {strays}");
            faults.push(Malformed::new(self.first_stray, what));
        }
        faults.extend(self.miscount().filter(|_| self.claims_more()));
        faults
    }

    /// The faults that lose nothing, in a record of game `id`.
    pub(in crate::cbh) fn irregularities(&self, id: u32) -> Vec<Malformed> {
        let Some((game_id, mark, _)) = self.head else {
            return vec![Malformed::new(0, "the record is cut short")];
        };
        let mut faults = Vec::new();
        if game_id != id {
            let what = format!("the record is that of game {game_id}");
            faults.push(Malformed::new(0, what));
        }
        if mark != MARK {
            faults.push(Malformed::new(3, "the mark of annotations is missing"));
        }
        faults.extend(self.miscount().filter(|_| !self.claims_more()));
        if !self.is_sorted {
            let what = "annotations are not in order of their moves";
            faults.push(Malformed::new(HEAD_BYTES, what));
        }
        faults
    }

    /// A count that is wrong. Of a damaged record nothing can be counted.
    fn miscount(&self) -> Option<Malformed> {
        let (_, _, claimed) = self.head.filter(|_| self.is_whole())?;
        // The count has one more.
        let count = self.count + 1;
        let what = format!("the count of annotations is {claimed}, should be {count}");
        (claimed != count).then(|| Malformed::new(7, what))
    }

    fn claims_more(&self) -> bool {
        let claimed = self.head.map_or(0, |(.., claimed)| claimed);
        claimed > self.count + 1
    }
}

fn head(record: &[u8]) -> Option<(u32, [u8; 4], u32)> {
    let mut reader = ByteReader::new(record);
    let game_id = reader.u24_be().ok()?;
    let mark = reader.array().ok()?;
    Some((game_id, mark, reader.u24_be().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cbh::annotations::encode;

    fn record(positions: &[i32]) -> Vec<u8> {
        let remarks: Vec<_> = positions.iter().map(|&at| (at, 0x03, vec![1])).collect();
        encode(7, &remarks).unwrap().unwrap()
    }

    fn whats(faults: &[Malformed]) -> Vec<&str> {
        faults.iter().map(|fault| fault.what.as_str()).collect()
    }

    #[test]
    fn a_whole_record_names_its_game() {
        let whole = Shape::of(&record(&[-1, 0, 0, 5]), None);
        assert!(whole.is_whole() && whole.is_sorted);
        assert_eq!((whole.other_name(7), whole.other_name(8)), (None, Some(7)));
        assert!(whole.losses().is_empty() && whole.irregularities(7).is_empty());
        let of_seven = ["the record is that of game 7"];
        assert_eq!(whats(&whole.irregularities(8)), of_seven);
        let mut cut = record(&[-1, 0]);
        cut.pop();
        let cut = Shape::of(&cut, None);
        assert!(!cut.is_whole());
        assert_eq!((cut.other_name(8), cut.losses().len()), (None, 1));
        let headless = Shape::of(&[0; 9], None);
        assert!(!headless.is_whole());
        let short = ["the record is cut short"];
        assert_eq!(whats(&headless.irregularities(7)), short);
        let mut unmarked = record(&[0]);
        unmarked[3] = 9;
        let unmarked = Shape::of(&unmarked, None);
        assert_eq!(unmarked.other_name(8), None);
        let markless = ["the mark of annotations is missing"];
        assert_eq!(whats(&unmarked.irregularities(7)), markless);
    }

    #[test]
    fn remarks_behind_the_last_move_and_missing_ones_would_be_lost() {
        let strays = Shape::of(&record(&[-1, 1, 2, -2]), Some(2));
        let two = "annotations on moves that the game does not have: 2";
        assert_eq!(whats(&strays.losses()), [two]);
        // Behind the head and two remarks of seven bytes.
        assert_eq!(strays.losses()[0].offset, 28);
        assert!(!strays.is_sorted);
        assert_eq!(strays.irregularities(7).len(), 1);
        let miscounted = |claimed: u8| {
            let mut record = record(&[0]);
            record[9] = claimed;
            let shape = Shape::of(&record, None);
            (shape.losses().len(), shape.irregularities(7).len())
        };
        assert_eq!([1, 2, 3].map(miscounted), [(0, 1), (0, 0), (1, 0)]);
    }
}
