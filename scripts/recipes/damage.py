"""Bases in which one thing after another is broken, between games that are whole: `damage`, and `misplaced`, whose
games have remarks at places that they do not have, records of damaged shape, and remarks that are odd but whole."""

import struct
from dataclasses import replace

from encoder import moves
from encoder.base import CBH_RECORD_BYTES, Base, Game, text
from encoder.entities import Player, Tournament

from . import Case

OPEN = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7"
CBP_HEADER_BYTES, CBP_RECORD_BYTES = 32, 67
CBH_NEXT_ID, CBH_NEXT_ID_AGAIN = 6, 40
CBH_MOVES, CBH_ANNOTATIONS, CBH_WHITE, CBH_MOVE_COUNT = 1, 5, 9, 45
CBA_HEAD_BYTES = 14
EARLY = 16
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


def remarked(title, *annotations, **more):
    """A whole game with these remarks."""
    return whole(title, annotations=annotations, **more)


# Tags that no header holds, some of names that headers have; not in the order in which cbfs writes them.
TAGS = (
    'A text. [%cbtag FEN "none"] [%cbtag White "Whitehead|"] [%cbtag Black "Other|Name"] [%cbtag White "Whites|"] '
    '[%cbtag Foo "1"] [%cbtag Foo "2"] [%cbtag WhiteElo "2700"] '
    '[%cbtag Event ""] [%cbtag Bar "\\\\ \\"x\\" ]"] [%cbtag CbhOtherFoo "3"]'
)


def misplaced():
    """Each title says what is odd; with a defect, the game would lose something if it were written."""
    after, before, symbols, squares, arrows, question, white_clock, medals = 0x02, 0x82, 3, 4, 5, 9, 0x16, 0x22
    here, mark, arrow = (1, after, text("here")), bytes([2, 29]), bytes([2, 13, 29])
    return [
        remarked("Past the last move", (-1, after, text("the game")), here, (10, after, text("past")), defect="cba"),
        remarked("Far past the last move", here, (3080192, 0x43, b"\1"), (-2, squares, mark), defect="cba"),
        remarked("Smaller than its head", here, (2, after, text("cut")), (3, symbols, b"\1"), defect="cba"),
        remarked("Past the end of the record", here, (2, after, text("cut off")), defect="cba"),
        remarked("More counted than there are", here, (2, symbols, b"\1"), defect="cba"),
        remarked("Bytes of half a remark", here, (2, after, text("the last, cut")), defect="cba"),
        remarked("Fewer counted than there are", here, (2, symbols, b"\1")),
        remarked("Another game's record", here),
        remarked("Out of order", (5, after, text("five")), (-1, after, text("the game")), here, (5, symbols, b"\1")),
        remarked(
            "Two of a kind",
            *((0, symbols, b"\1"), (0, symbols, b"\2"), (0, arrows, arrow), (0, arrows, arrow)),
            *((0, squares, mark), (0, squares, mark), (0, question, b"\1"), (0, question, b"\2")),
        ),
        remarked(
            "On the game",
            *((-1, symbols, b"\1"), (-1, before, text("before the game")), (-1, white_clock, bytes(4))),
            *((-1, white_clock, bytes([0, 0, 1, 0])), (-1, medals, b"\0\0\0\1"), (-1, medals, b"\0\0\0\2")),
            medals=3,
            expected={"tags": {"CbhMedals": "2"}},
        ),
        remarked(
            "Odd payloads",
            *((0, after, b""), (0, before, b"\0"), (0, squares, bytes([2, 77])), (0, symbols, b"")),
            *((1, arrows, b"\2\1"), (1, question, b""), (1, 0x18, b"\t"), (1, white_clock, b"\1")),
            (2, 0x26, b"\xff\xff"),
        ),
        remarked(
            "Texts",
            *((0, after, b"\0\0\x8f"), (0, before, b"\0\0\x01\x02"), (1, after, text("one"))),
            *((1, after, b"\7\0two"), (1, after, text("three")), (2, after, b"\0\0")),
            (3, after, text("\r\n \r\n")),
        ),
        remarked("Foreign tags", (-1, after, text(TAGS))),
        whole("Bytes after the end", oddities=moves.Oddities(trailing=b"\0"), defect="cbg"),
        whole("Ends early", moves=" ".join(OPEN.split()[:7]), oddities=moves.Oddities(instead_of_end=b""), defect="cbg"),
        whole("One byte over", mode=1, oddities=moves.Oddities(trailing=b"\x12"), defect="cbg"),
        remarked("Whole", here),
    ]


def break_remarks(files):
    """What the recipe cannot say wrong, by the number of the game."""
    cbh, cba = files["cbh"], files["cba"]

    def put(number, offset, value):
        record = number * CBH_RECORD_BYTES + CBH_ANNOTATIONS
        at = int.from_bytes(cbh[record : record + 4], "big") + offset
        cba[at : at + len(value)] = value

    here = CBA_HEAD_BYTES + 6 + len(text("here"))
    put(3, here + 4, struct.pack(">H", 5))
    put(4, here + 4, struct.pack(">H", 0xFFFF))
    put(5, 7, (9).to_bytes(3, "big"))
    put(6, 10, struct.pack(">I", here + 3))
    put(7, 7, (1).to_bytes(3, "big"))
    put(8, 0, (1).to_bytes(3, "big"))
    # Only the header says that moves are missing.
    cbh[EARLY * CBH_RECORD_BYTES + CBH_MOVE_COUNT] = 5


def cases():
    """Two bases; each title says what is broken."""
    unknown_white = {"headers": {"White": ""}}
    records = [
        whole("Whole"),
        cut("Moves past the end of the file"),
        cut("Moves of no size", bytes(4)),
        whole("Garbage after ten plies", oddities=moves.Oddities(instead_of_end=garbage_stream()), defect="cbg"),
        whole("Player past the end of the file", white=Player("Lost"), defect="cbp", expected=unknown_white),
        cut("Unknown encoding", moves.wrap(UNSUPPORTED_MODE, NOT_MOVES), UNSUPPORTED_MODE),
        whole("Player deleted", white=Player("Deleted"), defect="cbp", expected=unknown_white),
        cut(
            "Illegal positions", moves.wrap(ILLEGAL_POSITIONS_MODE | moves.SETUP_BIT, NOT_MOVES), ILLEGAL_POSITIONS_MODE
        ),
        whole("Whole again"),
        whole("Never written"),
    ]
    return [
        Case(Base("damage", records), break_files, hidden=(UNUSED_RECORD,)),
        Case(Base("misplaced", misplaced()), break_remarks),
    ]


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
