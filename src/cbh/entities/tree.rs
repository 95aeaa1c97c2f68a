//! The search tree of an entity file: an AVL tree whose nodes are the records,
//! linked by their ids and sorted by their keys.

use super::id_set::IdSet;
use super::{DELETED, LINK_BYTES};
use crate::bytes::{BytePatch, ByteReader, Malformed};

/// Link value for "no child".
pub(super) const NO_CHILD: i32 = -1;

/// The links of a record, which are its first nine bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeNode {
    pub(super) left: i32,
    /// In a deleted record: the next deleted record.
    pub(super) right: i32,
    /// Height of the right subtree less that of the left one: -1, 0 or 1.
    pub(super) balance: i8,
}

impl TreeNode {
    /// Decodes the links; also returns the data of the record.
    pub(super) fn decode(record: &[u8]) -> Result<(TreeNode, &[u8]), Malformed> {
        let mut reader = ByteReader::new(record);
        let node = TreeNode {
            left: reader.i32_le()?,
            right: reader.i32_le()?,
            balance: reader.u8()?.cast_signed(),
        };
        debug_assert_eq!(reader.position(), LINK_BYTES);
        Ok((node, reader.rest()))
    }

    /// The links of a leaf.
    pub(super) const LEAF: TreeNode = TreeNode {
        left: NO_CHILD,
        right: NO_CHILD,
        balance: 0,
    };

    /// Writes the links into a record.
    pub(super) fn encode(self, record: &mut [u8]) -> Result<(), Malformed> {
        let mut patch = BytePatch::new(record);
        patch.put(self.left.to_le_bytes())?;
        patch.put(self.right.to_le_bytes())?;
        patch.put([self.balance.cast_unsigned()])
    }

    /// The child on one side.
    pub(super) fn child(self, side: TreeSide) -> i32 {
        match side {
            TreeSide::Left => self.left,
            TreeSide::Right => self.right,
        }
    }

    /// Sets the child on one side.
    pub(super) fn set_child(&mut self, side: TreeSide, child: i32) {
        match side {
            TreeSide::Left => self.left = child,
            TreeSide::Right => self.right = child,
        }
    }

    /// Returns whether the record is deleted.
    pub(super) fn is_deleted(self) -> bool {
        self.left == DELETED
    }
}

/// A side of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeSide {
    Left,
    Right,
}

impl TreeSide {
    /// The opposite side.
    pub(super) fn other(self) -> TreeSide {
        match self {
            TreeSide::Left => TreeSide::Right,
            TreeSide::Right => TreeSide::Left,
        }
    }

    /// The balance of a node whose subtree on this side is higher.
    pub(super) fn weight(self) -> i8 {
        match self {
            TreeSide::Left => -1,
            TreeSide::Right => 1,
        }
    }
}

/// A defect of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// A link of this record, or of the header if `None`, leads to no record.
    NoRecord { from: Option<u32>, to: i32 },
    /// A link leads to a deleted record.
    Deleted { from: Option<u32>, to: u32 },
    /// A link leads to a record that another link leads to.
    Twice { from: Option<u32>, to: u32 },
    /// The balance of a record differs from the heights of its subtrees.
    Balance { id: u32, is: i8, should: i64 },
}

/// The links of all records, indexed by id.
#[derive(Clone, Debug, Default)]
pub(super) struct EntityTree {
    pub(super) root: i32,
    pub(super) nodes: Vec<TreeNode>,
}

/// Result of a walk.
#[derive(Debug)]
pub(super) struct TreeWalk {
    /// The records that can be reached, in sorted order.
    pub(super) order: Vec<u32>,
    pub(super) flaws: Vec<Flaw>,
}

/// A pending step of a walk.
enum TreeStep {
    Enter { from: Option<u32>, to: i32 },
    Visit(u32),
    Leave(u32),
}

impl EntityTree {
    /// Visits each record that can be reached from the root once. Terminates
    /// for any links.
    pub(super) fn walk(&self) -> TreeWalk {
        let mut walk = TreeWalk {
            order: Vec::new(),
            flaws: Vec::new(),
        };
        let mut heights = vec![0_u32; self.nodes.len()];
        let mut seen = IdSet::below(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        // The root of an empty file is 0 or -1.
        if self.nodes.is_empty() {
            return walk;
        }
        let mut steps = vec![TreeStep::Enter {
            from: None,
            to: self.root,
        }];
        while let Some(step) = steps.pop() {
            match step {
                TreeStep::Enter { to: NO_CHILD, .. } => {}
                TreeStep::Enter { from, to } => match self.enter(from, to, &mut seen) {
                    Ok((id, node)) => steps.extend([
                        TreeStep::Leave(id),
                        TreeStep::Enter {
                            from: Some(id),
                            to: node.right,
                        },
                        TreeStep::Visit(id),
                        TreeStep::Enter {
                            from: Some(id),
                            to: node.left,
                        },
                    ]),
                    Err(flaw) => walk.flaws.push(flaw),
                },
                TreeStep::Visit(id) => walk.order.push(id),
                TreeStep::Leave(id) => walk.flaws.extend(self.leave(id, &mut heights)),
            }
        }
        walk
    }

    /// The record that a link leads to, unless an earlier link led there.
    fn enter(&self, from: Option<u32>, to: i32, seen: &mut IdSet) -> Result<(u32, TreeNode), Flaw> {
        let found = u32::try_from(to).ok();
        let found = found.and_then(|id| Some((id, *self.nodes.get(id as usize)?)));
        let Some((id, node)) = found else {
            return Err(Flaw::NoRecord { from, to });
        };
        if node.is_deleted() {
            return Err(Flaw::Deleted { from, to: id });
        }
        if !seen.insert(id) {
            return Err(Flaw::Twice { from, to: id });
        }
        Ok((id, node))
    }

    /// Stores the height of a record whose subtrees have been walked, and
    /// checks its balance.
    fn leave(&self, id: u32, heights: &mut [u32]) -> Option<Flaw> {
        let node = self.nodes.get(id as usize)?;
        let height = |child: i32| {
            let height = usize::try_from(child).ok().and_then(|at| heights.get(at));
            height.copied().unwrap_or(0)
        };
        let (left, right) = (height(node.left), height(node.right));
        *heights.get_mut(id as usize)? = 1 + left.max(right);
        let should = i64::from(right) - i64::from(left);
        (i64::from(node.balance) != should).then_some(Flaw::Balance {
            id,
            is: node.balance,
            should,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(root: i32, nodes: &[(i32, i32, i8)]) -> EntityTree {
        let node = |&(left, right, balance)| TreeNode {
            left,
            right,
            balance,
        };
        EntityTree {
            root,
            nodes: nodes.iter().map(node).collect(),
        }
    }

    #[test]
    fn a_walk_visits_records_in_order() {
        let walk = tree(1, &[(-1, -1, 0), (0, 3, 1), (-1, -1, 0), (2, -1, -1)]).walk();
        assert_eq!(walk.order, [0, 1, 2, 3]);
        assert_eq!(walk.flaws, []);
        assert!(tree(0, &[]).walk().order.is_empty());
    }

    #[test]
    fn a_cyclic_tree_is_walked_once() {
        let walk = tree(0, &[(1, 0, 0), (0, 1, 0)]).walk();
        assert_eq!(walk.order, [1, 0]);
        let twice = |from, to| Flaw::Twice {
            from: Some(from),
            to,
        };
        for flaw in [twice(1, 0), twice(1, 1), twice(0, 0)] {
            assert!(walk.flaws.contains(&flaw), "{flaw:?}");
        }
    }

    #[test]
    fn links_to_missing_records_are_reported() {
        let walk = tree(0, &[(7, -2, 1), (DELETED, -1, 0)]).walk();
        let nowhere = |to| Flaw::NoRecord { from: Some(0), to };
        assert!(walk.flaws.contains(&nowhere(7)));
        assert!(walk.flaws.contains(&nowhere(-2)));
        let balance = Flaw::Balance {
            id: 0,
            is: 1,
            should: 0,
        };
        assert!(walk.flaws.contains(&balance));
        let walk = tree(1, &[(-1, -1, 0), (DELETED, -1, 0)]).walk();
        let deleted = Flaw::Deleted { from: None, to: 1 };
        assert_eq!(walk.flaws, [deleted]);
    }

    #[test]
    fn a_degenerate_tree_is_walked_without_recursion() {
        let count = 200_000;
        let nodes: Vec<_> = (1..=count)
            .map(|next| (-1, if next == count { -1 } else { next }, 1))
            .collect();
        assert_eq!(tree(0, &nodes).walk().order.len(), nodes.len());
    }
}
