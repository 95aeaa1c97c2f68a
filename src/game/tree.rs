//! The moves of a game: a tree of plies in one vector.

use shakmaty::{Move, Role, Square};

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

/// One ply, with its links.
#[derive(Clone, Copy, Debug)]
pub struct Ply {
    /// The move; `None` is a null move.
    pub mv: Option<Move>,
    /// Its notation, with check and mate marks.
    pub san: San,
    parent: PlyId,
    first_child: PlyId,
    last_child: PlyId,
    next_sibling: PlyId,
}

impl Ply {
    /// The main continuation.
    #[inline]
    pub fn first_child(&self) -> Option<PlyId> {
        self.first_child.given()
    }

    /// The next alternative to this ply, in stored order.
    #[inline]
    pub fn next_sibling(&self) -> Option<PlyId> {
        self.next_sibling.given()
    }

    const START: Ply = Ply {
        mv: None,
        san: San::NULL,
        parent: NONE,
        first_child: NONE,
        last_child: NONE,
        next_sibling: NONE,
    };
}

/// A main line with variations, nested to any depth.
///
/// Walks use an explicit stack, and dropping the tree frees one vector, so deep
/// nesting does not need call stack.
#[derive(Clone, Debug)]
pub struct MoveTree {
    /// `plies[0]` is the start.
    plies: Vec<Ply>,
    has_variations: bool,
}

impl Default for MoveTree {
    fn default() -> MoveTree {
        // The start, and room for most games.
        let mut plies = Vec::with_capacity(1 + USUAL_PLIES);
        plies.push(Ply::START);
        MoveTree {
            plies,
            has_variations: false,
        }
    }
}

impl MoveTree {
    /// Removes all plies and keeps the memory.
    pub fn clear(&mut self) {
        self.plies.clear();
        self.plies.push(Ply::START);
        self.has_variations = false;
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

    /// The main continuation of `id`.
    pub fn first_child(&self, id: PlyId) -> Option<PlyId> {
        self.link(id, |ply| ply.first_child)
    }

    /// The next alternative to `id`, in stored order.
    pub fn next_sibling(&self, id: PlyId) -> Option<PlyId> {
        self.link(id, |ply| ply.next_sibling)
    }

    /// The ply before `id`; `None` if `id` is the first ply.
    pub fn parent(&self, id: PlyId) -> Option<PlyId> {
        self.link(id, |ply| ply.parent)
    }

    /// The plies of the main line, in order.
    pub fn main_line(&self) -> impl Iterator<Item = PlyId> + '_ {
        std::iter::successors(self.first_child(PlyId::START), |&id| self.first_child(id))
    }

    /// The plies of the main line, in order, if there is no variation.
    pub fn only_line(&self) -> Option<&[Ply]> {
        // Without variations each ply follows the one that was added before.
        let plies = self.plies.get(1..)?;
        (!self.has_variations).then_some(plies)
    }

    /// Number of plies of the main line. Takes time linear in it if there are variations.
    pub fn main_line_len(&self) -> usize {
        if self.has_variations {
            self.main_line().count()
        } else {
            self.len()
        }
    }

    #[inline]
    fn link(&self, id: PlyId, of: impl Fn(&Ply) -> PlyId) -> Option<PlyId> {
        self.plies.get(id.index()).map(of).and_then(PlyId::given)
    }

    /// Adds a ply after `parent`: as its main continuation if it has none, else
    /// as the last alternative.
    #[inline]
    fn add(&mut self, parent: PlyId, mv: Option<Move>, san: San) -> PlyId {
        // The caller has checked that the tree is not full.
        let id = PlyId(u32::try_from(self.plies.len()).unwrap_or(u32::MAX));
        if let Some(parent) = self.plies.get_mut(parent.index()) {
            let previous = std::mem::replace(&mut parent.last_child, id);
            if previous == NONE {
                parent.first_child = id;
            } else {
                self.link_behind(previous, id);
            }
        }
        self.plies.push(Ply {
            mv,
            san,
            parent,
            ..Ply::START
        });
        id
    }

    /// Makes a ply the next alternative to another.
    #[cold]
    fn link_behind(&mut self, previous: PlyId, id: PlyId) {
        self.has_variations = true;
        if let Some(previous) = self.plies.get_mut(previous.index()) {
            previous.next_sibling = id;
        }
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
        self.here.at = self.tree.add(self.here.at, Some(m), san);
        Ok(self.here.at)
    }

    /// Plays a move that is no castling and no promotion, as
    /// [`play`](TreeBuilder::play). Returns the square on which it takes.
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
        role: Role,
        from: Square,
        to: Square,
    ) -> Result<Option<Square>, IllegalMove> {
        let Ok((capture, san)) = self.here.position.play_step(role, from, to) else {
            return self.take_in_passing(role, from, to);
        };
        let m = Move::Normal {
            role,
            from,
            capture,
            to,
            promotion: None,
        };
        self.here.at = self.tree.add(self.here.at, Some(m), san);
        Ok(capture.map(|_| to))
    }

    /// Plays what is no legal step, if it is a pawn that takes en passant.
    #[cold]
    fn take_in_passing(
        &mut self,
        role: Role,
        from: Square,
        to: Square,
    ) -> Result<Option<Square>, IllegalMove> {
        if role != Role::Pawn {
            return Err(IllegalMove);
        }
        self.play(Move::EnPassant { from, to })?;
        Ok(Some(Square::from_coords(to.file(), from.rank())))
    }

    /// Adds a null move; it is allowed in check too.
    pub fn play_null(&mut self) -> PlyId {
        self.here.position.play_null();
        self.here.at = self.tree.add(self.here.at, None, San::NULL);
        self.here.at
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
        let first = tree.ply(e4).unwrap();
        assert_eq!(
            (first.first_child(), first.next_sibling()),
            (Some(e5), None)
        );
        assert_eq!(tree.ply(e5).unwrap().next_sibling(), Some(c5));
        assert_eq!(tree.place(c5.index()), Some(c5));
        assert_eq!((tree.place(0), tree.place(4)), (Some(PlyId::START), None));
        assert!(tree.only_line().is_none());
        tree.clear();
        assert!(tree.is_empty());
    }

    #[test]
    fn moves_of_pieces_and_pawns_say_what_they_take() {
        let fen = "4k3/8/3n3p/4Pp2/8/8/8/2B1K3 w - f6 0 1";
        let start = crate::game::Start::from_fen(fen, shakmaty::CastlingMode::Standard);
        let position = start.unwrap().position;
        let mut tree = MoveTree::default();
        let mut line = TreeBuilder::new(&mut tree, &position);
        let start = line.branch();
        let takes = line.play_step(Role::Bishop, Square::C1, Square::H6);
        assert_eq!(takes, Ok(Some(Square::H6)));
        let reached = line.position().board().role_at(Square::H6);
        assert_eq!(reached, Some(Role::Bishop));
        let aside = line.play_step(Role::Knight, Square::D6, Square::E4);
        assert_eq!(aside, Ok(None));
        line.resume(start.clone());
        let takes = line.play_step(Role::Pawn, Square::E5, Square::D6);
        assert_eq!(takes, Ok(Some(Square::D6)));
        line.resume(start);
        let passes = line.play_step(Role::Pawn, Square::E5, Square::F6);
        assert_eq!(passes, Ok(Some(Square::F5)));
        let far = line.play_step(Role::King, Square::E8, Square::F6);
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
