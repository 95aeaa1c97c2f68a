//! The moves of a game: a tree of plies in one vector.

use shakmaty::{Color, Move, Role, Square};

use super::{IllegalMove, Position, San};

/// Maximum number of plies read per game, main line and variations. It is far
/// above any real game and bounds the memory.
pub const MAX_PLIES: usize = 1 << 20;

/// More plies than most games have.
pub const USUAL_PLIES: usize = 128;

/// Identifies one ply of a [`MoveTree`], or the start before the first ply.
///
/// Ids are assigned from 1 in the order in which plies are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlyId(u32);

impl PlyId {
    /// The start of the game, before any ply.
    pub const START: PlyId = PlyId(0);

    /// The index in the order of adding; 0 is the start.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the id, or `None` if it means "no ply".
    #[inline]
    fn given(self) -> Option<PlyId> {
        (self != NONE).then_some(self)
    }
}

/// Means "no ply" in links. The start can be used for this because it is never
/// a child.
const NONE: PlyId = PlyId::START;

/// One ply.
#[derive(Clone, Copy, Debug)]
pub struct Ply {
    /// The move; `None` is a null move.
    pub mv: Option<Move>,
    /// Its notation, with check and mate marks.
    pub san: San,
}

impl Ply {
    /// Stands for the start.
    const START: Ply = Ply {
        mv: None,
        san: San::NULL,
    };
}

/// One ply on a walk through a tree.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'t> {
    /// The ply.
    pub ply: &'t Ply,
    /// Its main continuation.
    pub next: Option<PlyId>,
    /// The next alternative to it, in stored order.
    pub alternative: Option<PlyId>,
}

/// Where a ply stands in the tree.
#[derive(Clone, Copy, Debug)]
struct Links {
    parent: PlyId,
    first_child: PlyId,
    last_child: PlyId,
    next_sibling: PlyId,
}

/// A main line with variations, nested to any depth.
///
/// Walks use an explicit stack, and dropping the tree frees one vector, so deep
/// nesting does not need call stack.
#[derive(Clone, Debug)]
pub struct MoveTree {
    /// `plies[0]` is the start.
    plies: Vec<Ply>,
    /// Those of each ply and of the start. Empty as long as each ply follows the one
    /// that was added before, as in most games.
    links: Vec<Links>,
    /// The last ply of the main line and how many it has, if there are links.
    main_end: PlyId,
    main_len: usize,
}

impl Default for MoveTree {
    fn default() -> MoveTree {
        // The start, and room for most games.
        let mut plies = Vec::with_capacity(1 + USUAL_PLIES);
        plies.push(Ply::START);
        MoveTree {
            plies,
            links: Vec::new(),
            main_end: PlyId::START,
            main_len: 0,
        }
    }
}

impl MoveTree {
    /// Removes all plies and keeps the memory.
    pub fn clear(&mut self) {
        self.plies.clear();
        self.plies.push(Ply::START);
        self.links.clear();
    }

    /// Number of plies, main line and variations.
    pub fn len(&self) -> usize {
        self.plies.len() - 1
    }

    /// Returns whether there are no plies.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ply with this id; `None` for the start and for ids of other trees.
    pub fn ply(&self, id: PlyId) -> Option<&Ply> {
        self.plies.get(id.index()).filter(|_| id != PlyId::START)
    }

    /// The id with this index in the order of adding; 0 is the start.
    pub fn place(&self, index: usize) -> Option<PlyId> {
        let id = u32::try_from(index).ok()?;
        (index < self.plies.len()).then_some(PlyId(id))
    }

    /// The start and all plies, in the order of adding.
    pub fn places(&self) -> impl Iterator<Item = PlyId> + use<> {
        // A tree has at most `MAX_PLIES`.
        (0..u32::try_from(self.plies.len()).unwrap_or(u32::MAX)).map(PlyId)
    }

    /// The ply with this id and where a walk goes on from it.
    #[inline]
    pub fn visit(&self, id: PlyId) -> Option<Visit<'_>> {
        let ply = self.ply(id)?;
        let (next, alternative) = match self.links.get(id.index()) {
            Some(links) => (links.first_child.given(), links.next_sibling.given()),
            None => (self.added_after(id), None),
        };
        Some(Visit {
            ply,
            next,
            alternative,
        })
    }

    /// The main continuation of `id`.
    pub fn first_child(&self, id: PlyId) -> Option<PlyId> {
        if self.links.is_empty() {
            return self.added_after(id);
        }
        self.link(id, |links| links.first_child)
    }

    /// The next alternative to `id`, in stored order.
    pub fn next_sibling(&self, id: PlyId) -> Option<PlyId> {
        self.link(id, |links| links.next_sibling)
    }

    /// The ply before `id`; `None` if `id` is the first ply.
    pub fn parent(&self, id: PlyId) -> Option<PlyId> {
        if self.links.is_empty() {
            return self.added_before(id);
        }
        self.link(id, |links| links.parent)
    }

    /// The plies of the main line, in order.
    pub fn main_line(&self) -> impl Iterator<Item = PlyId> + '_ {
        std::iter::successors(self.first_child(PlyId::START), |&id| self.first_child(id))
    }

    /// The moves of the main line, in order; `None` is a null move.
    pub fn main_moves(&self) -> impl Iterator<Item = Option<Move>> + '_ {
        let plies = self.main_line();
        plies.filter_map(|id| Some(self.ply(id)?.mv))
    }

    /// The plies of the main line, in order, if there is no variation.
    pub fn only_line(&self) -> Option<&[Ply]> {
        let plies = self.plies.get(1..)?;
        self.links.is_empty().then_some(plies)
    }

    /// Number of plies of the main line.
    pub fn main_line_len(&self) -> usize {
        if self.links.is_empty() {
            self.len()
        } else {
            self.main_len
        }
    }

    /// The ply that was added after this one.
    #[inline]
    fn added_after(&self, id: PlyId) -> Option<PlyId> {
        self.place(id.index() + 1)
    }

    /// The ply that was added before this one.
    #[inline]
    fn added_before(&self, id: PlyId) -> Option<PlyId> {
        let known = self.place(id.index())?;
        PlyId(known.0.checked_sub(1)?).given()
    }

    #[inline]
    fn link(&self, id: PlyId, of: impl Fn(&Links) -> PlyId) -> Option<PlyId> {
        self.links.get(id.index()).map(of).and_then(PlyId::given)
    }

    /// Adds a ply after `parent`: as its main continuation if it has none, else
    /// as the last alternative.
    #[expect(
        clippy::inline_always,
        reason = "once for each side in the loop over the moves of a game"
    )]
    #[inline(always)]
    fn add(&mut self, parent: PlyId, ply: Ply) -> PlyId {
        let id = if self.links.is_empty() && parent.index() + 1 == self.plies.len() {
            PlyId(parent.0 + 1)
        } else {
            self.link_next(parent)
        };
        self.plies.push(ply);
        id
    }

    /// Links the ply that is added next. Returns its id.
    #[inline(never)]
    fn link_next(&mut self, parent: PlyId) -> PlyId {
        if self.links.is_empty() {
            self.link_line();
        }
        // The caller has checked that the tree is not full.
        let id = PlyId(u32::try_from(self.plies.len()).unwrap_or(u32::MAX));
        if let Some(links) = self.links.get_mut(parent.index()) {
            let previous = std::mem::replace(&mut links.last_child, id);
            if previous == NONE {
                links.first_child = id;
            } else if let Some(links) = self.links.get_mut(previous.index()) {
                links.next_sibling = id;
            }
        }
        self.links.push(Links {
            parent,
            first_child: NONE,
            last_child: NONE,
            next_sibling: NONE,
        });
        if parent == self.main_end {
            self.main_end = id;
            self.main_len += 1;
        }
        id
    }

    /// Links plies of which each follows the one before.
    #[cold]
    fn link_line(&mut self) {
        // A tree has at most `MAX_PLIES`.
        let last = u32::try_from(self.len()).unwrap_or(u32::MAX);
        self.links.extend((0..=last).map(|at| Links {
            parent: PlyId(at.wrapping_sub(1)),
            first_child: PlyId(at.wrapping_add(1)),
            last_child: PlyId(at.wrapping_add(1)),
            next_sibling: NONE,
        }));
        if let Some(start) = self.links.first_mut() {
            start.parent = NONE;
        }
        if let Some(end) = self.links.last_mut() {
            (end.first_child, end.last_child) = (NONE, NONE);
        }
        self.main_len = self.len();
        self.main_end = PlyId(last);
    }
}

/// A point in a tree under construction, with the position there. Used to
/// return to it after a variation.
#[derive(Clone, Debug)]
pub struct Branch {
    position: Position,
    at: PlyId,
}

impl Branch {
    /// The position at the point.
    pub fn position(&self) -> &Position {
        &self.position
    }
}

/// Builds a tree ply by ply; only legal moves are accepted.
#[derive(Debug)]
pub struct TreeBuilder<'t> {
    tree: &'t mut MoveTree,
    here: Branch,
}

impl<'t> TreeBuilder<'t> {
    /// Starts an empty tree.
    pub fn new(tree: &'t mut MoveTree, start: &Position) -> TreeBuilder<'t> {
        tree.clear();
        TreeBuilder {
            tree,
            here: Branch {
                position: start.clone(),
                at: PlyId::START,
            },
        }
    }

    /// The position before the next ply.
    pub fn position(&self) -> &Position {
        &self.here.position
    }

    /// Returns whether the tree has [`MAX_PLIES`].
    pub fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// The number of plies that the tree can have besides.
    pub fn room(&self) -> usize {
        MAX_PLIES.saturating_sub(self.tree.len())
    }

    /// The ply that was played last, or the start.
    pub fn at(&self) -> PlyId {
        self.here.at
    }

    /// Plays `m` and adds it to the tree.
    ///
    /// # Errors
    ///
    /// [`IllegalMove`] if the move is not legal; the line is unchanged then.
    #[inline]
    pub fn play(&mut self, m: Move) -> Result<PlyId, IllegalMove> {
        let san = self.here.position.play(m)?;
        Ok(self.add(Some(m), san))
    }

    /// Plays a move, no castling and no promotion, of the side to move, as
    /// [`play`](TreeBuilder::play). Returns what it takes. A mate gets the mark of a
    /// check: whether it is one takes long to find, and the next legal move tells that it
    /// is none. So call [`mark_mate`](TreeBuilder::mark_mate) after the last of such moves.
    ///
    /// # Errors
    ///
    /// As for [`play`](TreeBuilder::play).
    #[expect(
        clippy::inline_always,
        reason = "once in the loop over the moves of a game"
    )]
    #[inline(always)]
    pub fn play_step(
        &mut self,
        us: Color,
        role: Role,
        from: Square,
        to: Square,
    ) -> Result<Option<Role>, IllegalMove> {
        let (capture, san) = self.here.position.play_step(us, role, from, to)?;
        let m = Move::Normal {
            role,
            from,
            capture,
            to,
            promotion: None,
        };
        self.add(Some(m), san);
        Ok(capture)
    }

    /// Replaces the mark of a check by that of a mate if the last move mates.
    pub fn mark_mate(&mut self) {
        if self.here.position.is_mate()
            && let Some(ply) = self.tree.plies.get_mut(self.here.at.index())
        {
            ply.san = ply.san.mating();
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "once for each side in the loop over the moves of a game"
    )]
    #[inline(always)]
    fn add(&mut self, mv: Option<Move>, san: San) -> PlyId {
        self.here.at = self.tree.add(self.here.at, Ply { mv, san });
        self.here.at
    }

    /// Adds a null move; it is allowed in check too.
    pub fn play_null(&mut self) -> PlyId {
        self.here.position.play_null();
        self.add(None, San::NULL)
    }

    /// The current point, for [`resume`](TreeBuilder::resume).
    pub fn branch(&self) -> Branch {
        self.here.clone()
    }

    /// As [`branch`](TreeBuilder::branch), in the place of an earlier one.
    #[inline]
    pub fn branch_into(&self, place: &mut Branch) {
        place.clone_from(&self.here);
    }

    /// Continues from `branch`.
    pub fn resume(&mut self, branch: Branch) {
        self.here = branch;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(role: Role, from: Square, to: Square) -> Move {
        Move::Normal {
            role,
            from,
            capture: None,
            to,
            promotion: None,
        }
    }

    #[test]
    fn a_tree_counts_its_plies_and_links_them() {
        let mut tree = MoveTree::default();
        assert!(tree.is_empty());
        let mut line = TreeBuilder::new(&mut tree, &Position::default());
        let e4 = line.play(step(Role::Pawn, Square::E2, Square::E4)).unwrap();
        let after_e4 = line.branch();
        let e5 = line.play(step(Role::Pawn, Square::E7, Square::E5)).unwrap();
        line.resume(after_e4);
        let c5 = line.play(step(Role::Pawn, Square::C7, Square::C5)).unwrap();
        assert!(line.play(step(Role::Pawn, Square::E7, Square::E5)).is_err());
        assert!(!line.is_full());
        assert_eq!((tree.len(), tree.is_empty()), (3, false));
        assert_eq!(tree.main_line().collect::<Vec<_>>(), [e4, e5]);
        assert_eq!(tree.ply(c5).unwrap().san.to_string(), "c5");
        assert_eq!(
            (tree.next_sibling(e5), tree.next_sibling(c5)),
            (Some(c5), None)
        );
        assert_eq!((tree.parent(c5), tree.first_child(c5)), (Some(e4), None));
        assert_eq!(
            (tree.first_child(e4), tree.next_sibling(e4)),
            (Some(e5), None)
        );
        assert_eq!(tree.place(c5.index()), Some(c5));
        assert_eq!((tree.place(0), tree.place(4)), (Some(PlyId::START), None));
        assert!(tree.only_line().is_none());
        tree.clear();
        assert!(tree.is_empty());
        assert!(tree.only_line().is_some_and(<[Ply]>::is_empty));
    }

    #[test]
    fn plies_of_one_line_follow_each_other_also_once_there_is_a_variation() {
        let mut tree = MoveTree::default();
        let mut line = TreeBuilder::new(&mut tree, &Position::default());
        let start = line.branch();
        let main = [line.play_null(), line.play_null(), line.play_null()];
        let links = |tree: &MoveTree| {
            let links = tree.places().map(|id| {
                let (parent, first) = (tree.parent(id), tree.first_child(id));
                (parent, first, tree.next_sibling(id))
            });
            links.collect::<Vec<_>>()
        };
        let [first, second, third] = main.map(Some);
        let of_line = [
            (None, first, None),
            (None, second, None),
            (first, third, None),
            (second, None, None),
        ];
        let beyond = PlyId(4);
        assert_eq!(
            (tree.parent(beyond), tree.first_child(beyond)),
            (None, None)
        );
        assert_eq!(links(&tree), of_line);
        assert_eq!(tree.only_line().map(<[Ply]>::len), Some(3));
        let mut line = TreeBuilder {
            tree: &mut tree,
            here: start,
        };
        let other = Some(line.play_null());
        let mut of_tree = of_line.to_vec();
        of_tree[1].2 = other;
        of_tree.push((None, None, None));
        assert_eq!(links(&tree), of_tree);
        assert_eq!((tree.main_line_len(), tree.len()), (3, 4));
        assert!(tree.main_line().eq(main));
    }

    #[test]
    fn the_main_line_is_counted_in_whatever_order_moves_are_added() {
        let mut tree = MoveTree::default();
        for rounds in [3, 1, 5] {
            let mut line = TreeBuilder::new(&mut tree, &Position::default());
            let mut branches = vec![line.branch()];
            for round in 0..rounds {
                line.play_null();
                branches.push(line.branch());
                // A variation of two moves, then on from where the main line was.
                line.resume(branches[round].clone());
                line.play_null();
                line.play_null();
                line.resume(branches[round + 1].clone());
            }
            line.play_null();
            assert_eq!(tree.main_line_len(), rounds + 1);
            assert_eq!(tree.main_line_len(), tree.main_line().count());
            assert_eq!(tree.len(), 3 * rounds + 1);
        }
        tree.clear();
        assert_eq!(tree.main_line_len(), 0);
    }

    #[test]
    fn moves_of_pieces_and_pawns_say_what_they_take() {
        let fen = "4k3/8/3n3p/4Pp2/8/8/8/2B1K3 w - f6 0 1";
        let start = crate::game::Start::from_fen(fen, shakmaty::CastlingMode::Standard);
        let position = start.unwrap().position;
        let mut tree = MoveTree::default();
        let mut line = TreeBuilder::new(&mut tree, &position);
        let start = line.branch();
        let takes = line.play_step(Color::White, Role::Bishop, Square::C1, Square::H6);
        assert_eq!(takes, Ok(Some(Role::Pawn)));
        let reached = line.position().board().role_at(Square::H6);
        assert_eq!(reached, Some(Role::Bishop));
        let aside = line.play_step(Color::Black, Role::Knight, Square::D6, Square::E4);
        assert_eq!(aside, Ok(None));
        line.resume(start.clone());
        let takes = line.play_step(Color::White, Role::Pawn, Square::E5, Square::D6);
        assert_eq!(takes, Ok(Some(Role::Knight)));
        line.resume(start);
        let passes = line.play_step(Color::White, Role::Pawn, Square::E5, Square::F6);
        assert_eq!(passes, Err(IllegalMove), "en passant");
        let far = line.play_step(Color::Black, Role::King, Square::E8, Square::F6);
        assert_eq!(far, Err(IllegalMove));
    }

    #[test]
    fn a_tree_holds_a_million_plies() {
        assert_eq!(MAX_PLIES, 1_048_576);
        let mut tree = MoveTree::default();
        let mut line = TreeBuilder::new(&mut tree, &Position::default());
        for _ in 0..MAX_PLIES {
            assert!(!line.is_full());
            line.play_null();
        }
        assert!(line.is_full());
    }
}
