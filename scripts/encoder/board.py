"""A board that knows as much chess as encoding needs: where the pieces stand, and the number each one has.

Squares count by file: a1 = 0, a2 = 1, …, a8 = 7, b1 = 8, …, h8 = 63. Colours are 0 (white) and 1 (black). Nothing here asks
whether a move is legal; the recipes are checked by readers that do.
"""

from dataclasses import dataclass

START_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
NULL_MOVE = "0000"

# How many pieces of a kind can have a number; a fourth queen has none and never gets one.
NUMBERED = {"K": 1, "Q": 3, "R": 3, "B": 3, "N": 3, "P": 8}


def square(name):
    """The number of a square such as `e4`."""
    return "abcdefgh".index(name[0]) * 8 + int(name[1]) - 1


def file_of(sq):
    """0 for the a-file."""
    return sq >> 3


def rank_of(sq):
    """0 for the first rank."""
    return sq & 7


@dataclass(frozen=True)
class Move:
    """One move as the encoders want it."""

    colour: int = 0
    kind: str = ""
    number: int | None = None  # None: the piece has no number
    origin: int = 0
    target: int = 0
    promotion: str = ""
    castling: str = ""  # "short", "long" or nothing

    @property
    def is_null(self):
        """A pass: no piece moves."""
        return not self.kind


class Board:
    """Pieces, whose turn it is, and the numbering of the pieces."""

    def __init__(self, fen=START_FEN, reverse=False):
        placement, turn, *_ = fen.split()
        self.pieces = {}
        for rank, row in zip(range(7, -1, -1), placement.split("/"), strict=True):
            file = 0
            for char in row:
                if char.isdigit():
                    file += int(char)
                    continue
                self.pieces[file * 8 + rank] = (int(char.islower()), char.upper())
                file += 1
        self.turn = int(turn == "b")
        self.numbers = {}  # (colour, kind) -> squares by number, None where a number is vacant
        for sq in sorted(self.pieces, reverse=reverse):
            self._give_number(sq)

    def copy(self):
        """A board of its own in the same position."""
        twin = object.__new__(Board)
        twin.pieces, twin.turn = dict(self.pieces), self.turn
        twin.numbers = {piece: list(squares) for piece, squares in self.numbers.items()}
        return twin

    def play(self, uci):
        """Play a move and return it, numbered as it was before it was played."""
        if uci == NULL_MOVE:
            self.turn = 1 - self.turn
            return Move()
        origin, target = square(uci[:2]), square(uci[2:4])
        move = self._describe(origin, target, uci[4:].upper())
        if move.castling:
            self._castle(move)
        else:
            self._move(move)
        self.turn = 1 - self.turn
        return move

    def _describe(self, origin, target, promotion):
        colour, kind = self.pieces[origin]
        squares = self.numbers[colour, kind]
        number = squares.index(origin) if origin in squares else None
        takes_own_rook = self.pieces.get(target) == (colour, "R")
        steps = abs(file_of(origin) - file_of(target))
        castling = ""
        if kind == "K" and (takes_own_rook or steps == 2):
            castling = "short" if target > origin else "long"
        return Move(colour, kind, number, origin, target, promotion, castling)

    def _move(self, move):
        victim = move.target
        if move.kind == "P" and file_of(move.origin) != file_of(move.target) and victim not in self.pieces:
            victim = file_of(move.target) * 8 + rank_of(move.origin)  # en passant
        if victim in self.pieces:
            self._capture(victim)
        self.pieces[move.target] = self.pieces.pop(move.origin)
        if move.number is not None:
            self.numbers[move.colour, move.kind][move.number] = move.target
        if move.promotion:
            self.numbers[move.colour, "P"][move.number] = None
            self.pieces[move.target] = (move.colour, move.promotion)
            self._give_number(move.target)

    def _capture(self, sq):
        colour, kind = self.pieces.pop(sq)
        squares = self.numbers[colour, kind]
        if sq not in squares:
            return
        if kind == "P":
            squares[squares.index(sq)] = None
        else:
            squares.remove(sq)  # the higher numbers move down

    def _castle(self, move):
        """Bring king and rook to their places; the rook is the target, or the outermost one on that side."""
        back = 7 * move.colour
        rook = move.target
        if self.pieces.get(rook) != (move.colour, "R"):
            rook = (56 if move.castling == "short" else 0) + back
        king_to, rook_to = (48, 40) if move.castling == "short" else (16, 24)
        for sq in (move.origin, rook):
            del self.pieces[sq]
        self.pieces[king_to + back] = (move.colour, "K")
        self.pieces[rook_to + back] = (move.colour, "R")
        self.numbers[move.colour, "K"] = [king_to + back]
        rooks = self.numbers[move.colour, "R"]
        if rook in rooks:
            rooks[rooks.index(rook)] = rook_to + back

    def _give_number(self, sq):
        piece = self.pieces[sq]
        squares = self.numbers.setdefault(piece, [])
        if len(squares) < NUMBERED[piece[1]]:
            squares.append(sq)
