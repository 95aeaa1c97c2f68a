"""The moves of a game with its variations, written as `e2e4 e7e5 (c7c5 g1f3) g1f3`.

A variation stands after the move it replaces. Castling of Chess960 is the king taking its own rook, a null move `0000`.
"""


class Node:
    """A move and the moves that answer it, the main one first."""

    def __init__(self, uci=""):
        self.uci = uci
        self.children = []


def parse(text):
    """The tree of a text; the root carries no move."""
    root = Node()
    node, parent, open_lines = root, None, []
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            open_lines.append((node, parent))
            node, parent = parent, None
        elif word == ")":
            node, parent = open_lines.pop()
        else:
            node.children.append(Node(word))
            node, parent = node.children[-1], node
    assert not open_lines, f"unclosed variation: {text}"
    return root


def main_line(root):
    """The moves of the main line."""
    moves = []
    node = root
    while node.children:
        node = node.children[0]
        moves.append(node.uci)
    return moves


def spell(root):
    """The text of a tree, the reverse of `parse`."""
    words = []
    node = root
    while node.children:
        main, *others = node.children
        words.append(main.uci)
        for other in others:
            continuation = spell(other)
            words.append(f"({other.uci} {continuation})" if continuation else f"({other.uci})")
        node = main
    return " ".join(words)


def walk(root, board):
    """Every move in stored order: depth first, the main move first.

    Yields `(move, pushes, ends)`: whether siblings follow this move, so that the position before it must be kept, and
    whether its line ends with it.
    """
    waiting = [(child, board) for child in reversed(root.children)]
    last_of = {id(root.children[-1])} if root.children else set()
    while waiting:
        node, before = waiting.pop()
        after = before.copy()
        move = after.play(node.uci)
        yield move, id(node) not in last_of, not node.children
        waiting += [(child, after) for child in reversed(node.children)]
        if node.children:
            last_of.add(id(node.children[-1]))
