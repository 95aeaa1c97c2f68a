"""The move blobs of `.cbg`.

    0   1   encoding mode in bits 0-5, bit 6: a start position follows, bit 7: guiding text
    1   3   size of the blob with these four bytes, big-endian
    4   28  the start position, if bit 6 is set
    .   8   kings and rooks, if the mode is 10 or 11 (in the short form 4)
    .   .   the move stream

The compact modes give each move one byte, chosen by the piece's number and its step; the simple modes give each move
two. Both count the moves and mix the counter into every byte.
"""

from dataclasses import dataclass

from . import tree
from .board import Board, file_of, rank_of, square
from .translation import ENCODE

SETUP_BIT, TEXT_BIT = 0x40, 0x80
COMPACT_MODES = {0, 2, 4, 6, 10, 11}
REVERSE_MODES = {2, 3, 6, 7, 11}  # pieces are numbered from h8 to a1
COUNT_LAST_MODES = {0, 1, 2, 3}  # the counter is added after the permutation
CHESS960_MODES = {10, 11}

# Operation codes of the compact modes.
NULL, SHORT, LONG, TWO_BYTES, IGNORE, PUSH, POP = 0, 9, 10, 235, 236, 254, 255
KING_STEPS = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
KNIGHT_STEPS = [(2, 1), (1, 2), (-1, 2), (-2, 1), (-2, -1), (-1, -2), (1, -2), (2, -1)]
PAWN_STEPS = [(0, 1), (0, 2), (1, 1), (-1, 1)]  # as the mover sees them
FIRST_CODE = {
    "K": [1],
    "Q": [11, 143, 171],
    "R": [39, 53, 199],
    "B": [67, 81, 213],
    "N": [95, 103, 227],
    "P": [111 + 4 * number for number in range(8)],
}
PROMOTIONS = "QRBN"
KIND_BITS = {"K": 1, "Q": 2, "N": 3, "B": 4, "R": 5, "P": 6}


@dataclass(frozen=True)
class Chess960:
    """Kings and rooks of a Chess960 start position; `short` leaves Black's rooks out."""

    number: int
    kings: str  # "e1 e8"
    white_rooks: str  # h-side, a-side
    black_rooks: str = ""
    short: bool = False

    def encode(self):
        """The bytes between the start position and the moves."""
        squares = f"{self.kings} {self.white_rooks}" + ("" if self.short else f" {self.black_rooks}")
        block = bytes(square(name) for name in squares.split())
        return block if self.short else block + self.number.to_bytes(2, "big")


@dataclass(frozen=True)
class Oddities:
    """What a stored stream may hold beside its moves."""

    two_bytes: bool = False  # every move as operation 235 with two squares
    ignore_before: int | None = None  # operation 236 before the move of this index
    instead_of_end: bytes | None = None  # operation codes in place of the last end marker
    trailing: bytes = b""  # bytes after the end marker, inside the blob
    setup_bytes: tuple = ()  # (offset, value) written into the 28 bytes of the start position


PLAIN = Oddities()


def encode(moves, fen=None, mode=0, chess960=None, oddities=PLAIN):
    """The blob of a game."""
    board = Board(fen, mode in REVERSE_MODES) if fen else Board(reverse=mode in REVERSE_MODES)
    body = b""
    if fen:
        setup = bytearray(encode_setup(fen))
        for offset, value in oddities.setup_bytes:
            setup[offset] = value
        body += bytes(setup)
    if chess960:
        body += chess960.encode()
    stream = compact_stream if mode in COMPACT_MODES else simple_stream
    body += stream(tree.parse(moves), board, mode, oddities) + oddities.trailing
    return wrap(mode | (SETUP_BIT if fen else 0), body)


def wrap(flags, body):
    """A blob from its flag byte and what follows the size."""
    return bytes([flags]) + (len(body) + 4).to_bytes(3, "big") + body


def encode_setup(fen):
    """The 28 bytes of a start position.

    0 the value 1; 1 en passant file (a = 1) and bit 4 for Black to move; 2 castling rights; 3 number of the next move;
    4-27 the squares a1, a2, …, h8 as bits, highest first: `0` for an empty one, `1`, colour and three bits of kind else.
    """
    _, turn, castling, en_passant, _, number = fen.split()
    file = "abcdefgh".index(en_passant[0]) + 1 if en_passant != "-" else 0
    # Only rights spelled KQkq are taken from the FEN; a recipe with other letters sets the byte itself.
    rights = sum(bit for letter, bit in (("Q", 1), ("K", 2), ("q", 4), ("k", 8)) if letter in castling)
    pieces = Board(fen).pieces
    bits = "".join(
        f"1{pieces[sq][0]}{KIND_BITS[pieces[sq][1]]:03b}" if sq in pieces else "0" for sq in range(64)
    )
    packed = int(bits.ljust(192, "0"), 2).to_bytes(24, "big")
    return bytes([1, file | (turn == "b") << 4, rights, min(int(number), 255)]) + packed


class Cipher:
    """Turns values into the bytes of the stream; `counter` is the number of moves written so far."""

    def __init__(self, mode):
        self.table = ENCODE[mode]
        self.count_last = mode in COUNT_LAST_MODES
        self.counter = 0

    def __call__(self, values):
        if self.count_last:
            return bytes((self.table[value] + self.counter) & 255 for value in values)
        return bytes(self.table[(value + self.counter) & 255] for value in values)


def compact_stream(root, board, mode, oddities=PLAIN):
    """The stream of modes 0, 2, 4, 6, 10 and 11: marks around the lines, main move first."""
    cipher, stream = Cipher(mode), b""
    end_mark = b""
    for index, (move, pushes, ends) in enumerate(tree.walk(root, board)):
        stream += end_mark
        if pushes:
            stream += cipher([PUSH])
        if index == oddities.ignore_before:
            stream += cipher([IGNORE])
        stream += cipher(operation(move, mode, oddities.two_bytes))
        cipher.counter += 1
        end_mark = cipher([POP]) if ends else b""
    return stream + cipher([POP] if oddities.instead_of_end is None else oddities.instead_of_end)


def operation(move, mode, two_bytes=False):
    """The operation code of a move, with its operands if it has any."""
    if move.is_null:
        return [NULL]
    if move.castling and mode in CHESS960_MODES:
        square_of_king = (48 if move.castling == "short" else 16) + 7 * move.colour
        return [TWO_BYTES, *word(square_of_king, square_of_king)]
    if move.promotion or move.number is None or two_bytes:
        return [TWO_BYTES, *word(move.origin, move.target, move.promotion)]
    if move.castling:
        return [SHORT if move.castling == "short" else LONG]
    return [FIRST_CODE[move.kind][move.number] + step_index(move)]


def step_index(move):
    """Which of its piece's steps a move is. Lines wrap around the board's edges, kings and knights do not."""
    right = file_of(move.target) - file_of(move.origin)
    up = rank_of(move.target) - rank_of(move.origin)
    if move.kind == "K":
        return KING_STEPS.index((right, up))
    if move.kind == "N":
        return KNIGHT_STEPS.index((right, up))
    if move.kind == "P":
        return PAWN_STEPS.index((-right, -up) if move.colour else (right, up))
    right, up = right % 8, up % 8
    if right == 0:
        return up - 1
    if up == 0:
        return 7 + right - 1
    line = 0 if right == up else 7
    return (14 if move.kind == "Q" else 0) + line + right - 1


def word(origin, target, promotion="", flags=0):
    """Two bytes: bits 0-5 origin, 6-11 target, 12-13 promotion, the rest flags."""
    kind = PROMOTIONS.index(promotion) if promotion else 0
    return (origin | target << 6 | kind << 12 | flags).to_bytes(2, "big")


def simple_stream(root, board, mode, oddities=PLAIN):
    """The stream of modes 1, 3, 5 and 7: two bytes for each move, no marks; bit 14 ends a line, bit 15 keeps the position."""
    cipher, stream = Cipher(mode), b""
    for move, pushes, ends in tree.walk(root, board):
        squares = (move.target, move.origin) if mode in REVERSE_MODES else (move.origin, move.target)
        stream += cipher(word(*squares, move.promotion, ends << 14 | pushes << 15))
        cipher.counter += 1
    return stream
