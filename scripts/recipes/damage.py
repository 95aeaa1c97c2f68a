"""A base in which one thing after another is broken, between games that are whole."""

from dataclasses import replace

from encoder import moves
from encoder.base import CBH_RECORD_BYTES, Base, Game
from encoder.entities import Player, Tournament

from . import Case

OPEN = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7"
CBP_HEADER_BYTES, CBP_RECORD_BYTES = 32, 67
CBH_NEXT_ID, CBH_NEXT_ID_AGAIN = 6, 40
CBH_MOVES, CBH_WHITE = 1, 9
UNSUPPORTED_MODE, ILLEGAL_POSITIONS_MODE = 12, 63
SECOND_QUEEN_UP = 143  # there is no second queen
NOT_MOVES = bytes.fromhex("0123456789abcdef")
BEYOND, DELETED, UNUSED_RECORD = 5, 7, 10


def whole(title, **more):
    """A game that nothing is wrong with, yet."""
    game = Game(Player("White"), Player("Black"), OPEN, "1-0", Tournament(title))
    return replace(game, **more)


def cut(title, blob=None, mode=0):
    """A game whose moves cannot be read at all."""
    return whole(title, moves="", blob=blob or moves.encode(OPEN), mode=mode, defect="cbg")


def garbage_stream():
    """Ten plies, then a queen that does not exist; the counter has gone on to 10."""
    cipher = moves.Cipher(0)
    cipher.counter = 10
    return cipher([SECOND_QUEEN_UP]) + NOT_MOVES


def cases():
    """One base; each title says what is broken."""
    unknown_white = {"headers": {"White": ""}}
    records = [
        whole("Whole"),
        cut("Moves past the end of the file"),
        cut("Moves of no size", bytes(4)),
        whole("Garbage after ten plies", oddities=moves.Oddities(instead_of_end=garbage_stream()), defect="cbg"),
        whole("Player past the end of the file", white=Player("Lost"), defect="cbp", expected=unknown_white),
        cut("Unknown encoding", moves.wrap(UNSUPPORTED_MODE, NOT_MOVES), UNSUPPORTED_MODE),
        whole("Player deleted", white=Player("Deleted"), defect="cbp", expected=unknown_white),
        cut("Illegal positions", moves.wrap(ILLEGAL_POSITIONS_MODE | moves.SETUP_BIT, NOT_MOVES), ILLEGAL_POSITIONS_MODE),
        whole("Whole again"),
        whole("Never written"),
    ]
    return [Case(Base("damage", records), break_files, hidden=(UNUSED_RECORD,))]


def break_files(files):
    """What the recipe itself cannot say wrong."""
    cbh, cbp = files["cbh"], files["cbp"]

    def put(file, offset, value):
        file[offset : offset + len(value)] = value

    past_the_end = (0x7FFFFFFF).to_bytes(4, "big")
    put(cbh, 2 * CBH_RECORD_BYTES + CBH_MOVES, past_the_end)
    put(files["cbj"], 32 + 120 + 30, bytes(4) + past_the_end)
    put(cbh, BEYOND * CBH_RECORD_BYTES + CBH_WHITE, b"\xff\xff\xff")
    deleted_player = int.from_bytes(cbh[DELETED * CBH_RECORD_BYTES + CBH_WHITE :][:3], "big")
    put(cbp, CBP_HEADER_BYTES + deleted_player * CBP_RECORD_BYTES, (-999).to_bytes(4, "little", signed=True))
    put(cbh, UNUSED_RECORD * CBH_RECORD_BYTES, bytes(CBH_RECORD_BYTES))
    # One game more than the file holds records for.
    for offset in (CBH_NEXT_ID, CBH_NEXT_ID_AGAIN):
        put(cbh, offset, (UNUSED_RECORD + 2).to_bytes(4, "big"))
