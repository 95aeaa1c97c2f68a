//! The moves of a game: a tree of plies in one arena.

use shakmaty::{Move, Role, Square};

use super::{IllegalMove, Position, San};

/// The most plies of a game that are read, main line and variations: far more
/// than any game has, and few enough to be held in memory.
pub const MAX_PLIES: usize = 1 << 20;

/// Names one ply of a [`MoveTree`], or the start before the first ply.
///
/// Ids are given in the order in which plies are added, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlyId(u32);

impl PlyId {
    /// The start of the game, before any ply.
    pub const START: PlyId = PlyId(0);

    /// The place of the ply in the order of adding: 0 is the start.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Itself, unless it stands for "no ply".
    #[inline]
    fn given(self) -> Option<PlyId> {
        (self != NONE).then_some(self)
    }
}

/// Stands for "no ply" in the links: the start is nobody's child.
const NONE: PlyId = PlyId::START;

/// One ply, with its place in the tree.
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
    /// Its main continuation.
    #[inline]
    pub fn first_child(&self) -> Option<PlyId> {
        self.first_child.given()
    }

    /// The next alternative to it, in stored order.
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

/// A main line with its variations, nested to any depth.
///
/// Walks use an explicit stack, and dropping the tree frees one vector, so
/// deep nesting costs no call stack.
#[derive(Clone, Debug)]
pub struct MoveTree {
    /// `plies[0]` is the start.
    plies: Vec<Ply>,
    /// The last ply of the main line, or the start.
    main_end: PlyId,
    main_len: usize,
}

impl Default for MoveTree {
    fn default() -> MoveTree {
        MoveTree {
            plies: vec![Ply::START],
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
        self.main_end = PlyId::START;
        self.main_len = 0;
    }

    /// Number of plies, main line and variations.
    pub fn len(&self) -> usize {
        self.plies.len() - 1
    }

    /// Whether there is no ply.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The ply of this id; `None` for the start and for ids of other trees.
    pub fn ply(&self, id: PlyId) -> Option<&Ply> {
        self.plies.get(id.index()).filter(|_| id != PlyId::START)
    }

    /// The place of this index in the order of adding: 0 is the start, then
    /// the plies.
    pub fn place(&self, index: usize) -> Option<PlyId> {
        let id = u32::try_from(index).ok()?;
        (index < self.plies.len()).then_some(PlyId(id))
    }

    /// The main continuation of `id`.
    pub fn first_child(&self, id: PlyId) -> Option<PlyId> {
        self.link(id, |ply| ply.first_child)
    }

    /// The next alternative to `id`, in stored order.
    pub fn next_sibling(&self, id: PlyId) -> Option<PlyId> {
        self.link(id, |ply| ply.next_sibling)
    }

    /// The ply that `id` follows; `None` if that is the start.
    pub fn parent(&self, id: PlyId) -> Option<PlyId> {
        self.link(id, |ply| ply.parent)
    }

    /// The plies of the main line, in order.
    pub fn main_line(&self) -> impl Iterator<Item = PlyId> + '_ {
        std::iter::successors(self.first_child(PlyId::START), |&id| self.first_child(id))
    }

    /// Number of plies of the main line.
    pub fn main_line_len(&self) -> usize {
        self.main_len
    }

    #[inline]
    fn link(&self, id: PlyId, of: impl Fn(&Ply) -> PlyId) -> Option<PlyId> {
        self.plies.get(id.index()).map(of).and_then(PlyId::given)
    }

    /// Adds a ply after `parent`: as its main continuation if it has none
    /// yet, else as the last alternative.
    #[inline]
    fn add(&mut self, parent: PlyId, mv: Option<Move>, san: San) -> PlyId {
        // What builds a tree asks whether it is full.
        let id = PlyId(u32::try_from(self.plies.len()).unwrap_or(u32::MAX));
        self.plies.push(Ply {
            mv,
            san,
            parent,
            ..Ply::START
        });
        let mut previous = NONE;
        if let Some(parent) = self.plies.get_mut(parent.index()) {
            previous = std::mem::replace(&mut parent.last_child, id);
            if previous == NONE {
                parent.first_child = id;
            }
        }
        if previous != NONE
            && let Some(previous) = self.plies.get_mut(previous.index())
        {
            previous.next_sibling = id;
        }
        // The main line goes on from where it ends only.
        if parent == self.main_end {
            self.main_end = id;
            self.main_len += 1;
        }
        id
    }
}

/// A place in a tree under construction, with the position there: where
/// the next ply goes. Kept to come back to when a variation ends.
#[derive(Clone, Debug)]
pub struct Branch {
    position: Position,
    at: PlyId,
}

/// Builds a tree ply by ply; only what is legal gets in.
#[derive(Debug)]
pub struct Line<'t> {
    tree: &'t mut MoveTree,
    here: Branch,
}

impl<'t> Line<'t> {
    /// Begins at the start of an empty tree.
    pub fn new(tree: &'t mut MoveTree, start: &Position) -> Line<'t> {
        tree.clear();
        Line {
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

    /// Whether the tree has as many plies as a game may have.
    pub fn is_full(&self) -> bool {
        self.tree.plies.len() > MAX_PLIES
    }

    /// The ply that was played last on this line.
    pub fn at(&self) -> PlyId {
        self.here.at
    }

    /// Plays `m` and adds it to the tree.
    ///
    /// # Errors
    ///
    /// [`IllegalMove`] if the rules forbid it here; the line stays as it was.
    #[inline]
    pub fn play(&mut self, m: Move) -> Result<PlyId, IllegalMove> {
        let san = self.here.position.play(m)?;
        self.here.at = self.tree.add(self.here.at, Some(m), san);
        Ok(self.here.at)
    }

    /// Plays a piece, which is no pawn and does not castle, as
    /// [`play`](Line::play); gives what it takes.
    ///
    /// # Errors
    ///
    /// As of [`play`](Line::play).
    #[expect(
        clippy::inline_always,
        reason = "once in the loop over the moves of a game"
    )]
    #[inline(always)]
    pub fn play_piece(
        &mut self,
        role: Role,
        from: Square,
        to: Square,
    ) -> Result<Option<Role>, IllegalMove> {
        let (capture, san) = self.here.position.play_piece(role, from, to)?;
        self.add_step(role, from, capture, to, san);
        Ok(capture)
    }

    /// Plays a pawn that does not promote, as [`play`](Line::play); gives what
    /// it takes, and where.
    ///
    /// # Errors
    ///
    /// As of [`play`](Line::play).
    #[expect(
        clippy::inline_always,
        reason = "once in the loop over the moves of a game"
    )]
    #[inline(always)]
    pub fn play_pawn(
        &mut self,
        from: Square,
        to: Square,
    ) -> Result<Option<(Role, Square)>, IllegalMove> {
        let position = &mut self.here.position;
        if from.file() != to.file() && position.board().role_at(to).is_none() {
            return self.take_in_passing(from, to);
        }
        let (capture, san) = position.play_pawn(from, to, None)?;
        self.add_step(Role::Pawn, from, capture, to, san);
        Ok(capture.map(|role| (role, to)))
    }

    #[inline]
    fn add_step(&mut self, role: Role, from: Square, capture: Option<Role>, to: Square, san: San) {
        let m = Move::Normal {
            role,
            from,
            capture,
            to,
            promotion: None,
        };
        self.here.at = self.tree.add(self.here.at, Some(m), san);
    }

    #[cold]
    fn take_in_passing(
        &mut self,
        from: Square,
        to: Square,
    ) -> Result<Option<(Role, Square)>, IllegalMove> {
        self.play(Move::EnPassant { from, to })?;
        let passed = Square::from_coords(to.file(), from.rank());
        Ok(Some((Role::Pawn, passed)))
    }

    /// Adds a null move, which is allowed in check too.
    pub fn play_null(&mut self) -> PlyId {
        self.here.position.play_null();
        self.here.at = self.tree.add(self.here.at, None, San::NULL);
        self.here.at
    }

    /// The present place, to come back to.
    pub fn branch(&self) -> Branch {
        self.here.clone()
    }

    /// Goes on from `branch`.
    pub fn resume(&mut self, branch: Branch) {
        self.here = branch;
    }
}
