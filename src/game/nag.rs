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

/// Returns whether each NAG stands in the place of its class, so that
/// [`nag_places`] gives them these places in the order of the places.
pub fn nags_stand_in_order(places: [u8; 3]) -> bool {
    let classes = [NagClass::Move, NagClass::Position, NagClass::Prefix];
    let stands = |(nag, class)| nag == 0 || NagClass::of(nag) == Some(class);
    places.into_iter().zip(classes).all(stands)
}

/// The NAGs of a ply in an order in which [`nag_places`] gives them these
/// places, with `homeless` as those that get none: two of one class in the
/// order in which they were given, else those about the move, about the
/// position and prefixes. `None` if no order does.
pub fn nags_in_order(places: [u8; 3], homeless: &[u8]) -> Option<Vec<u8>> {
    let [on_move, on_position, prefix] = places;
    let orders = [
        [on_move, on_position, prefix],
        [on_move, prefix, on_position],
        [on_position, on_move, prefix],
        [on_position, prefix, on_move],
        [prefix, on_move, on_position],
        [prefix, on_position, on_move],
    ];
    orders.into_iter().find_map(|order| {
        let given = order.into_iter().filter(|nag| *nag != 0);
        let given: Vec<u8> = given.chain(homeless.iter().copied()).collect();
        let (found, left) = nag_places(given.iter().copied());
        (found == places && left == homeless).then_some(given)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each pair and triple of NAGs comes back from its places: as it was given
    /// if it is of one class.
    #[test]
    fn places_tell_the_order_of_nags_of_one_class() {
        let nags = [1, 2, 5, 10, 14, 16, 22, 36, 50, 51, 140, 142];
        let class = |nag: &u8| NagClass::of(*nag).map(|class| class as u8);
        for first in nags {
            for second in nags {
                for third in nags {
                    let mut given = vec![first, second, third];
                    given.dedup();
                    if given.len() == 3 && first == third {
                        given.pop();
                    }
                    let (places, homeless) = nag_places(given.iter().copied());
                    let found = nags_in_order(places, &homeless).unwrap();
                    if homeless.is_empty() && nags_stand_in_order(places) {
                        assert!(places.into_iter().filter(|nag| *nag != 0).eq(found.clone()));
                    }
                    assert_eq!(nag_places(found.iter().copied()), (places, homeless));
                    if given.iter().all(|nag| class(nag) == class(&first)) {
                        assert_eq!(found, given);
                    }
                }
            }
        }
        assert_eq!(nags_in_order([14, 0, 0], &[]), None);
        assert_eq!(nags_in_order([0, 8, 0], &[]), None);
    }

    #[test]
    fn each_nag_goes_to_the_place_of_its_class() {
        for (nags, places, homeless) in [
            (&[][..], [0, 0, 0], &[][..]),
            (&[1], [1, 0, 0], &[]),
            (&[142, 14, 3], [3, 14, 142], &[]),
            (&[140], [0, 0, 140], &[]),
            (&[145], [0, 0, 145], &[]),
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
