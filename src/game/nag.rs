//! Numeric annotation glyphs: `$1` is "good move", `$18` "White has a decisive
//! advantage".

/// The class of a NAG. ChessBase stores one NAG of each class per ply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NagClass {
    /// About the move: good, bad, forced …
    Move,
    /// About the position after it: equal, unclear, White attacks …
    Position,
    /// A prefix of the move: "better is", "with the idea" …
    Prefix,
}

impl NagClass {
    /// Returns the class of a NAG; `None` for 0 and for NAGs that ChessBase
    /// cannot store.
    pub fn of(nag: u8) -> Option<NagClass> {
        match nag {
            1..=8 | 22 | 23 => Some(NagClass::Move),
            10..=21 | 30..=41 | 44..=47 | 132..=139 | 146 => Some(NagClass::Position),
            140..=145 => Some(NagClass::Prefix),
            _ => None,
        }
    }
}

/// Assigns the NAGs of one ply to its three places
/// ([`Annotation::Symbols`](super::Annotation::Symbols)): move, position,
/// prefix. A NAG without a class, or whose place is taken, gets the first free
/// one in the order position, move, prefix. Returns the places and, in order,
/// the NAGs that got none. Duplicates count once.
pub fn nag_places(nags: impl IntoIterator<Item = u8>) -> ([u8; 3], Vec<u8>) {
    let mut places = [0; 3];
    let mut homeless = Vec::new();
    for nag in nags {
        if nag == 0 || places.contains(&nag) || homeless.contains(&nag) {
            continue;
        }
        let [on_move, on_position, prefix] = &mut places;
        let place = match NagClass::of(nag) {
            Some(NagClass::Move) => on_move,
            Some(NagClass::Position) => on_position,
            Some(NagClass::Prefix) => prefix,
            None => {
                homeless.push(nag);
                continue;
            }
        };
        if *place == 0 {
            *place = nag;
        } else {
            homeless.push(nag);
        }
    }
    let [on_move, on_position, prefix] = &mut places;
    for place in [on_position, on_move, prefix] {
        if *place == 0 && !homeless.is_empty() {
            *place = homeless.remove(0);
        }
    }
    (places, homeless)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_nag_goes_to_the_place_of_its_class() {
        for (nags, places, homeless) in [
            (&[][..], [0, 0, 0], &[][..]),
            (&[1], [1, 0, 0], &[]),
            (&[142, 14, 3], [3, 14, 142], &[]),
            (&[50], [0, 50, 0], &[]),
            (&[50, 14], [50, 14, 0], &[]),
            (&[1, 3], [1, 3, 0], &[]),
            (&[1, 1], [1, 0, 0], &[]),
            (&[1, 50, 51, 52], [1, 50, 51], &[52]),
            (&[0], [0, 0, 0], &[]),
        ] {
            let found = nag_places(nags.iter().copied());
            assert_eq!(found, (places, homeless.to_vec()), "{nags:?}");
        }
    }
}
