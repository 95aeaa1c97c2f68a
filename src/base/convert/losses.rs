//! What a conversion cannot take over, by kinds.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use crate::cbh2::Lost;

/// A kind of what a CBH base does not have, or has in another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Loss {
    /// A record that is neither game nor text nor analysis.
    Record,
    /// A game that CBH cannot hold.
    Game,
    /// A guiding text that CBH cannot hold.
    Text,
    /// What of a game could not be read.
    PartOfGame,
    /// What of a text could not be read.
    PartOfText,
    /// A remark that is longer than CBH can hold.
    Remark,
    /// A web link that is longer than its field, kept as a text.
    Link,
    /// An evaluation profile with too many points.
    Profile,
    /// A training question with too many answers.
    Training,
    /// A quoted game of which names or moves are longer than their field.
    Quotation,
    /// A second remark of one kind on a move, for which there is no form in PGN.
    Second,
    /// A fact that CBH has no field for.
    Field(Lost),
    /// One that a remark has, in a tag of this name.
    Tag(&'static str),
    /// One that a tag of this name had, which is left out.
    NoTag(&'static str),
    /// A detail of a tournament or source, which differs from that of the same
    /// one in an earlier game.
    Kept(&'static str),
    /// A name of a text that is longer than its field.
    CutInText(&'static str),
    /// A name of a game that is longer than its field; a remark has the whole.
    Cut(&'static str),
    /// Entities of this type that no game refers to.
    Unused(&'static str),
}

impl Loss {
    /// Returns whether games or texts are missing, or parts of them.
    fn is_of_content(self) -> bool {
        matches!(
            self,
            Loss::Record
                | Loss::Game
                | Loss::Text
                | Loss::PartOfGame
                | Loss::PartOfText
                | Loss::Remark
                | Loss::Profile
                | Loss::Training
                | Loss::Quotation
        )
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loss::Record => f.write_str("neither game nor text nor analysis, left out"),
            Loss::Game => f.write_str("game that CBH cannot hold, left out"),
            Loss::Text => f.write_str("guiding text that CBH cannot hold, left out"),
            Loss::PartOfGame => f.write_str("damaged game, converted as far as it can be read"),
            Loss::PartOfText => f.write_str("damaged text, converted as far as it can be read"),
            Loss::Remark => f.write_str("remark longer than CBH can hold, left out"),
            Loss::Link => f.write_str("web link longer than its field, kept as a text"),
            Loss::Profile => f.write_str("evaluation profile longer than CBH can hold, cut"),
            Loss::Training => {
                f.write_str("training question with more answers than CBH can hold, cut")
            }
            Loss::Quotation => {
                f.write_str("quoted game with a name or moves longer than CBH can hold, cut")
            }
            Loss::Second => f.write_str(
                "second remark of one kind on a move, kept as it is stored, [%cba …] in PGN",
            ),
            Loss::Field(lost) => write!(f, "no field in CBH: {lost}"),
            Loss::Tag(name) => write!(f, "no field in CBH: {name}, kept in a remark"),
            Loss::NoTag(name) => write!(f, "no field in CBH: {name}, left out"),
            Loss::Kept(field) => write!(
                f,
                "{field} differs from that of the same {} in an earlier game, which stays",
                if field.starts_with("Event") {
                    "tournament"
                } else {
                    "source"
                }
            ),
            Loss::CutInText(field) => {
                write!(
                    f,
                    "{field} of a guiding text, longer than its field, is cut"
                )
            }
            Loss::Cut(field) => {
                write!(f, "{field} longer than its field, kept whole in a remark")
            }
            Loss::Unused(name) => write!(f, "{name} that no game refers to, left out"),
        }
    }
}

/// How often something was lost, and where first.
#[derive(Clone, Debug, Default)]
struct CountedLoss {
    count: u32,
    /// Number of the first game or text; 0 if it is of none.
    first: u32,
    example: String,
}

/// What was lost, counted by kinds.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    kinds: BTreeMap<Loss, CountedLoss>,
}

impl Losses {
    /// Counts a loss in the game or text `id`; 0 for none.
    pub(super) fn add(&mut self, loss: Loss, id: u32, example: &str) {
        let counted = self.kinds.entry(loss).or_default();
        if counted.count == 0 {
            counted.first = id;
            example.clone_into(&mut counted.example);
        }
        counted.count += 1;
    }

    /// Counts losses that belong to no game.
    pub(super) fn add_many(&mut self, loss: Loss, count: u32) {
        self.kinds.entry(loss).or_default().count += count;
    }

    /// Returns whether games or texts are missing, or parts of them.
    pub fn has_content(&self) -> bool {
        self.kinds.keys().any(|loss| loss.is_of_content())
    }

    /// A line for each kind, with its count, the first game and an example.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.kinds.iter().map(|(loss, counted)| {
            let CountedLoss {
                count,
                first,
                example,
            } = counted;
            let mut line = format!("{loss}: {count}");
            if *first > 0 {
                // Writing to a string does not fail.
                let _ = write!(line, ", first in {first}");
            }
            if !example.is_empty() {
                let _ = write!(line, " ({example})");
            }
            line
        })
    }
}
