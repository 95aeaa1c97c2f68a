//! Insertion into and removal from the AVL tree of an entity file. The
//! resulting links are exactly those that ChessBase writes.
//!
//! The functions work over the trait [`TreeNodes`], which loads only the records
//! that they visit.

use super::edit::EditError;
use super::tree::{NO_CHILD, TreeNode, TreeSide};

/// Access to the nodes of a tree by record id.
pub(super) trait TreeNodes {
    /// Returns the links of a record.
    ///
    /// # Errors
    ///
    /// [`EditError::Damaged`] if the record does not exist, is deleted, or has
    /// an impossible balance; [`EditError::Io`].
    fn node(&mut self, link: i32) -> Result<TreeNode, EditError>;

    /// Replaces the links of a record that [`node`](TreeNodes::node) has returned
    /// before.
    fn set_node(&mut self, id: i32, node: TreeNode) -> Result<(), EditError>;

    /// Sets the root of the tree.
    fn set_root(&mut self, root: i32);
}

/// The records from the root down to a node, each with the side that the path
/// takes there.
pub(super) type TreePath = Vec<(i32, TreeSide)>;

/// Maximum height. A balanced tree of 2^24 records is at most 1.44 × 24 high.
pub(super) const MOST_HEIGHT: usize = 40;

/// Attaches the leaf `new` at the end of `path`.
///
/// # Errors
///
/// [`EditError::Damaged`] if the balances contradict the shape of the tree;
/// some links have been changed then.
pub(super) fn attach(
    nodes: &mut impl TreeNodes,
    mut path: TreePath,
    new: i32,
) -> Result<(), EditError> {
    nodes.set_node(new, TreeNode::LEAF)?;
    relink(nodes, path.last(), new)?;
    while let Some((at, side)) = path.pop() {
        let mut node = nodes.node(at)?;
        node.balance += side.weight();
        match node.balance {
            0 => return nodes.set_node(at, node),
            -1 | 1 => nodes.set_node(at, node)?,
            _ => {
                let (top, _) = rotate(nodes, at, node, side)?;
                return relink(nodes, path.last(), top);
            }
        }
    }
    Ok(())
}

/// Removes record `id`, to which `path` leads, from the tree. Only links
/// change; the data of the other records stay.
///
/// # Errors
///
/// As [`attach`].
pub(super) fn detach(
    nodes: &mut impl TreeNodes,
    mut path: TreePath,
    id: i32,
) -> Result<(), EditError> {
    let node = nodes.node(id)?;
    if node.left == NO_CHILD || node.right == NO_CHILD {
        let child = node.left.max(node.right);
        relink(nodes, path.last(), child)?;
    } else {
        replace_by_successor(nodes, &mut path, id, node)?;
    }
    while let Some((at, side)) = path.pop() {
        let mut node = nodes.node(at)?;
        node.balance -= side.weight();
        match node.balance {
            -1 | 1 => return nodes.set_node(at, node),
            0 => nodes.set_node(at, node)?,
            _ => {
                let (top, is_lower) = rotate(nodes, at, node, side.other())?;
                relink(nodes, path.last(), top)?;
                if !is_lower {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// Moves the in-order successor of `id` to the position of `id`, and extends
/// `path` to where the successor was.
fn replace_by_successor(
    nodes: &mut impl TreeNodes,
    path: &mut TreePath,
    id: i32,
    node: TreeNode,
) -> Result<(), EditError> {
    let place = path.len();
    path.push((id, TreeSide::Right));
    let mut next = node.right;
    let mut successor = nodes.node(next)?;
    while successor.left != NO_CHILD {
        if path.len() > MOST_HEIGHT {
            return Err(EditError::damaged(0, "the tree is too high"));
        }
        path.push((next, TreeSide::Left));
        next = successor.left;
        successor = nodes.node(next)?;
    }
    relink(nodes, path.get(..place).and_then(<[_]>::last), next)?;
    nodes.set_node(next, node)?;
    if let Some(step) = path.get_mut(place) {
        step.0 = next;
    }
    relink(nodes, path.last(), successor.right)
}

/// Makes `child` the child at the last step of a path, or the root if the path
/// is empty.
fn relink(
    nodes: &mut impl TreeNodes,
    step: Option<&(i32, TreeSide)>,
    child: i32,
) -> Result<(), EditError> {
    match step {
        None => nodes.set_root(child),
        Some(&(parent, side)) => {
            let mut node = nodes.node(parent)?;
            node.set_child(side, child);
            nodes.set_node(parent, node)?;
        }
    }
    Ok(())
}

/// Rotates the subtree at `at`, one side of which is two levels higher. Returns
/// the new top, and whether the subtree is now lower than before.
fn rotate(
    nodes: &mut impl TreeNodes,
    at: i32,
    mut node: TreeNode,
    heavy: TreeSide,
) -> Result<(i32, bool), EditError> {
    let (light, weight) = (heavy.other(), heavy.weight());
    let child_at = node.child(heavy);
    let mut child = nodes.node(child_at)?;
    if child.balance != -weight {
        node.set_child(heavy, child.child(light));
        child.set_child(light, at);
        let is_lower = child.balance == weight;
        node.balance = if is_lower { 0 } else { weight };
        child.balance = -node.balance;
        nodes.set_node(at, node)?;
        nodes.set_node(child_at, child)?;
        return Ok((child_at, is_lower));
    }
    let inner_at = child.child(light);
    let mut inner = nodes.node(inner_at)?;
    child.set_child(light, inner.child(heavy));
    node.set_child(heavy, inner.child(light));
    inner.set_child(heavy, child_at);
    inner.set_child(light, at);
    node.balance = if inner.balance == weight { -weight } else { 0 };
    child.balance = if inner.balance == -weight { weight } else { 0 };
    inner.balance = 0;
    nodes.set_node(at, node)?;
    nodes.set_node(child_at, child)?;
    nodes.set_node(inner_at, inner)?;
    Ok((inner_at, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nodes by their ids, and the root.
    struct Nodes(Vec<TreeNode>, i32);

    impl TreeNodes for Nodes {
        fn node(&mut self, link: i32) -> Result<TreeNode, EditError> {
            Ok(self.0[usize::try_from(link).unwrap()])
        }

        fn set_node(&mut self, id: i32, node: TreeNode) -> Result<(), EditError> {
            self.0[usize::try_from(id).unwrap()] = node;
            Ok(())
        }

        fn set_root(&mut self, root: i32) {
            self.1 = root;
        }
    }

    /// The root with a leaf on the left, and on the right so many nodes, each on the
    /// left of the one before.
    fn lopsided(count: i32) -> Nodes {
        let mut nodes = vec![TreeNode {
            left: count + 1,
            right: 1,
            balance: 0,
        }];
        nodes.extend((1..count).map(|at| TreeNode {
            left: at + 1,
            right: NO_CHILD,
            balance: -1,
        }));
        nodes.extend([TreeNode::LEAF; 2]);
        Nodes(nodes, 0)
    }

    #[test]
    fn the_next_node_takes_the_place_of_one_that_is_removed() {
        let mut nodes = lopsided(3);
        detach(&mut nodes, Vec::new(), 0).unwrap();
        let Nodes(nodes, root) = nodes;
        let next = TreeNode {
            left: 4,
            right: 1,
            balance: -1,
        };
        assert_eq!((root, nodes[3]), (3, next));
        let one = TreeNode {
            left: 2,
            right: NO_CHILD,
            balance: 0,
        };
        assert_eq!((nodes[1], nodes[2]), (one, TreeNode::LEAF));
    }

    #[test]
    fn a_tree_that_is_too_high_is_damaged() {
        let most = i32::try_from(MOST_HEIGHT).unwrap() + 1;
        detach(&mut lopsided(most), Vec::new(), 0).unwrap();
        let error = detach(&mut lopsided(most + 1), Vec::new(), 0).unwrap_err();
        assert!(error.to_string().contains("too high"), "{error}");
    }
}
