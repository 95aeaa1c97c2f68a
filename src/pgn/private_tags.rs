//! Tags that hold settings for all remarks of a game, so that the remarks need
//! no commands.
//!
//! | tag | says |
//! |---|---|
//! | `CbhLang "en"` | the language of texts that do not name theirs |
//! | `CbhLead "64"` | the lead of texts that do not name theirs |
//! | `CbhExact1 "…"` | what a base stores of questions, see [`exact`](super::exact) |
//! | `CbhBefore "12.Nf3 17...Be7"` | the text right in front of each of these moves is about it, not about the move before |
//!
//! A move is named by its number and notation. Programs that move comments
//! leave the tags as they are, and readers show no tag among the moves. Where
//! the move before has a text of its own, a reader would join both: there the
//! text itself says what it is about, as `[%cbpre 1]`; so do several texts in
//! front of one move.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use super::exact::Exact;
use super::remarks::{Remarks, Subject, has_text, is_flagged_before};
use crate::game::{Annotation, Game, MAX_ANNOTATIONS, MoveTree, Nation, PlyId, San, Start};

/// Scid takes no tag of more than 235 bytes, name and value.
const MOST_BYTES: usize = 200;

/// Language and lead of texts that do not name theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) language: Nation,
    pub(super) lead: u8,
}

/// Settings for all remarks of a game, in tags.
#[derive(Debug, Default)]
pub(super) struct PrivateTags {
    pub(super) style: Style,
    /// The names of moves that texts in front of them are about.
    pub(super) before: String,
    /// The plies so named that have such texts, in order.
    named: Vec<PlyId>,
    /// Exact forms of questions that tags tell, and the values of these.
    pub(super) exact: Exact,
    pub(super) forms: Vec<String>,
    /// Whether no private tags and commands are written at all.
    pub(super) is_clean: bool,
}

impl PrivateTags {
    /// What is to be told of a game.
    pub(super) fn of(game: &Game) -> PrivateTags {
        if game.annotations.is_empty() {
            return PrivateTags::default();
        }
        let (before, named) = named_plies(game);
        let (exact, forms) = Exact::of(game);
        let (language, lead) = game.annotations.main_style();
        PrivateTags {
            style: Style { language, lead },
            before,
            named,
            exact,
            forms,
            is_clean: false,
        }
    }

    /// Tells nothing of any game.
    pub(super) fn nothing() -> PrivateTags {
        PrivateTags {
            is_clean: true,
            ..PrivateTags::default()
        }
    }

    /// Whether the tag says that the texts in front of this ply are about it.
    pub(super) fn names(&self, ply: PlyId) -> bool {
        self.named.binary_search(&ply).is_ok()
    }
}

/// The moves to be named, and their plies: those in the middle of a line with
/// one text before them and none after the ply before. A name counts for all
/// moves of that name, so none is given that would take the texts of others.
fn named_plies(game: &Game) -> (String, Vec<PlyId>) {
    let (tree, remarks) = (&game.tree, &game.annotations);
    let is_to_be_named = |at: &PlyId| {
        let parent = tree.parent(*at).unwrap_or(PlyId::START);
        tree.first_child(parent) == Some(*at) && !remarks.on(parent).any(is_after)
    };
    let with_text = remarks.iter().filter(|(_, remark)| remark.is_text_before());
    let with_text: Vec<PlyId> = with_text.map(|(at, _)| at).collect();
    let with_one = with_text
        .chunk_by(PlyId::eq)
        .filter(|of_ply| of_ply.len() == 1);
    let to_be_named = with_one.flatten().copied().filter(is_to_be_named);
    let to_be_named: Vec<PlyId> = to_be_named.collect();
    if to_be_named.is_empty() {
        return (String::new(), Vec::new());
    }
    let numbers = half_moves(tree, &game.start);
    let with_text_after = remarks.iter().filter(|(_, remark)| is_after(remark));
    let next = with_text_after.filter_map(|(at, _)| tree.first_child(at));
    let taken: BTreeSet<(u32, San)> = next
        .filter_map(|next| spot_of(tree, &numbers, next))
        .collect();
    let with_name = |at: &PlyId| Some((name_of(tree, &numbers, *at)?, *at));
    let mut plies: Vec<(Name, PlyId)> = to_be_named.iter().filter_map(with_name).collect();
    // In no order of the ids, which are other ones when the text is read.
    plies.sort();
    let mut names = Vec::new();
    let mut bytes = 0;
    let mut named = Vec::new();
    for (name, ply) in plies {
        if spot_of(tree, &numbers, ply).is_some_and(|spot| taken.contains(&spot)) {
            continue;
        }
        if names.last() != Some(&name) {
            bytes += name.spelled().len() + 1;
            if bytes > MOST_BYTES {
                break;
            }
            names.push(name);
        }
        named.push(ply);
    }
    named.sort_unstable();
    let names: Vec<String> = names.iter().map(Name::spelled).collect();
    (names.join(" "), named)
}

fn is_after(remark: &Annotation) -> bool {
    matches!(remark, Annotation::TextAfter(_))
}

/// A move as `CbhBefore` names it: `12.Nf3`, `12...Nf6`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Name {
    /// Number in half-moves: twice that of the move, one more for Black.
    half_move: u32,
    san: String,
}

impl Name {
    fn spelled(&self) -> String {
        let dots = if self.half_move.is_multiple_of(2) {
            "."
        } else {
            "..."
        };
        format!("{}{dots}{}", self.half_move / 2, self.san)
    }

    fn parse(name: &str) -> Option<Name> {
        let (number, san) = name.split_once('.')?;
        let (black, san) = match san.strip_prefix("..") {
            Some(san) => (1, san),
            None => (0, san),
        };
        let number: u32 = number.parse().ok()?;
        Some(Name {
            half_move: number.checked_mul(2)?.checked_add(black)?,
            san: san.to_owned(),
        })
    }
}

/// The number of each ply in half-moves, by its index.
fn half_moves(tree: &MoveTree, start: &Start) -> Vec<u32> {
    let black_begins = u32::from(start.position.turn().is_black());
    let first = start.first_move_number() * 2 + black_begins;
    let mut numbers = Vec::with_capacity(tree.len() + 1);
    numbers.push(first.saturating_sub(1));
    for index in 1..=tree.len() {
        let parent = tree.place(index).and_then(|ply| tree.parent(ply));
        // A ply was added after the one that it follows.
        let before = numbers.get(parent.map_or(0, PlyId::index)).copied();
        numbers.push(before.unwrap_or(0) + 1);
    }
    numbers
}

fn name_of(tree: &MoveTree, numbers: &[u32], ply: PlyId) -> Option<Name> {
    let (half_move, san) = spot_of(tree, numbers, ply)?;
    Some(Name {
        half_move,
        san: san.to_string(),
    })
}

/// The number in half-moves and the notation, which are the name.
fn spot_of(tree: &MoveTree, numbers: &[u32], ply: PlyId) -> Option<(u32, San)> {
    Some((*numbers.get(ply.index())?, tree.ply(ply)?.san))
}

/// Comments between two moves of a line.
#[derive(Debug)]
pub(super) struct Front<'t> {
    /// The ply that they follow, or the start.
    pub(super) after: PlyId,
    /// The ply in front of which they stand.
    pub(super) next: PlyId,
    pub(super) comments: Vec<PendingComment<'t>>,
}

/// A comment that waits for the names of moves.
#[derive(Debug)]
pub(super) struct PendingComment<'t> {
    pub(super) comment: Cow<'t, str>,
    /// Whether it stands behind a variation of the move that it follows.
    pub(super) is_behind_variation: bool,
}

impl PendingComment<'_> {
    fn is_text(&self) -> bool {
        !is_flagged_before(&self.comment) && has_text(&self.comment)
    }
}

/// The moves that `CbhBefore` names; more than a game may have remarks are
/// not read.
pub(super) fn parse_names(value: &str) -> NamedMoves {
    let names = value.split_whitespace().take(MAX_ANNOTATIONS);
    NamedMoves(names.filter_map(Name::parse).collect())
}

/// The moves that `CbhBefore` names.
#[derive(Debug, Default)]
pub(super) struct NamedMoves(HashSet<Name>);

impl NamedMoves {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The plies of these names, which are taken out.
    fn plies(&mut self, tree: &MoveTree, start: &Start) -> HashSet<PlyId> {
        let numbers = half_moves(tree, start);
        let plies = (1..=tree.len()).filter_map(|index| tree.place(index));
        let with_names = plies.filter_map(|ply| Some((ply, name_of(tree, &numbers, ply)?)));
        let (named, found): (HashSet<PlyId>, Vec<Name>) =
            with_names.filter(|(_, name)| self.0.contains(name)).unzip();
        for name in found {
            self.0.remove(&name);
        }
        named
    }
}

/// Gives comments to the ply that they follow; the last one with a text to
/// the next ply, if that is named. More remarks than a game may have are not
/// read.
pub(super) fn settle(
    (tree, start): (&MoveTree, &Start),
    mut names: NamedMoves,
    fronts: Vec<Front<'_>>,
    remarks: &mut Remarks,
) -> Settled {
    let mut settled = Settled::default();
    if names.is_empty() {
        return settled;
    }
    let named = names.plies(tree, start);
    for front in fronts {
        let Front { after, next, .. } = front;
        let last = named
            .contains(&next)
            .then(|| front.comments.iter().rposition(PendingComment::is_text));
        let last = last.flatten();
        if let Some(last) = last {
            settled.named.push(next);
            let text = front.comments.get(last);
            let is_placed = text.is_some_and(|text| text.is_behind_variation);
            settled.placed.extend(is_placed.then_some(next));
        }
        for (at, held) in front.comments.into_iter().enumerate() {
            let comment = held.comment;
            let subject = if is_flagged_before(&comment) {
                Subject::Before(next)
            } else if last == Some(at) || (last.is_none() && held.is_behind_variation) {
                Subject::Named { after, next }
            } else {
                Subject::After(after)
            };
            remarks.annotate(&comment, subject);
            if remarks.are_too_many() {
                return settled;
            }
        }
    }
    settled.has_stale_names = !names.is_empty();
    settled
}

/// What became of the names of `CbhBefore`.
#[derive(Debug, Default)]
pub(super) struct Settled {
    /// The plies that got a text by their names.
    pub(super) named: Vec<PlyId>,
    /// Those of them whose text stands behind a variation.
    pub(super) placed: Vec<PlyId>,
    /// Whether no move of the game has one of the names.
    pub(super) has_stale_names: bool,
}
