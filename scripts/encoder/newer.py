"""The same records as `base` writes, in the files of the newer format: `.2cbh`, `.2cbg`, `.2cba`, `.2lid`.

What is little-endian is so throughout but for the header of `.2lid` and the check sums.
"""

import struct

from . import tree, values
from .base import FIDE, SWEDISH, Base, Text, eco_word, flags, magnitudes, move_count
from .board import START_FEN, Board
from .entities import Player
from .moves import PLAIN

RECORD_BYTES = 192
NULL, START, MOVES, ALTERNATIVE, END = 0xFFFA, 0xFFFB, 0xFFFC, 0xFFFD, 0xFFFF
TAG_GAME, TAG_960, TAG_TEXT, TAG_ANNOTATIONS = 0x0001, 0x0002, 0x1000, 0x2000
NO_MORE = 0x7FFFFFFF
SETUP_960 = 1000
LANGUAGES = {0: 7, 42: 0, 53: 1, 49: 2, 43: 3, 70: 4, 103: 5, 117: 6, 116: 12, 55: 18}
NATION_OF = {0: 42, 1: 53, 2: 49, 3: 43, 4: 70, 5: 103, 6: 117, 7: 0}
TAG_NATIONS = (42, 53, 49, 43, 70, 103)
# 2026-09-16, in units of 2^-22 s since 2008-12-01.
CREATED = 0x00085DF5590AE02B

# ---------------------------------------------------------------- words of moves

KING = ((-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1))
KNIGHT = ((-2, -1), (-2, 1), (2, -1), (2, 1), (-1, -2), (-1, 2), (1, -2), (1, 2))
BISHOP = ((-1, -1), (1, -1), (1, 1), (-1, 1))
ROOK = ((-1, 0), (0, -1), (1, 0), (0, 1))
WAYS = {"K": (KING, 1), "Q": (BISHOP + ROOK, 7), "N": (KNIGHT, 1), "B": (BISHOP, 7), "R": (ROOK, 7)}
TAKEN = ("", "Q", "N", "B", "R", "P")


def steps(origin, way, most):
    """The squares on the way from a square, on an empty board."""
    file, rank = origin >> 3, origin & 7
    for distance in range(1, most + 1):
        to = file + way[0] * distance, rank + way[1] * distance
        if not (0 <= to[0] < 8 and 0 <= to[1] < 8):
            return
        yield to[0] * 8 + to[1]


def moves_of_pawns(colour):
    """Every move of a pawn in the order of the words: origin, target, taken, promotion."""
    up, home, fifth, last = ((1, 1, 4, 6), (-1, 6, 3, 1))[colour]
    for origin in range(64):
        file, rank = origin >> 3, origin & 7
        if rank in (0, 7):
            continue
        if rank == last:
            yield from ((origin, origin + up, "", becomes) for becomes in "QNBR")
        else:
            yield from ((origin, origin + up * far, "", "") for far in ((2, 1) if rank == home else (1,)))
        for aside in (-1, 1):
            target = origin + 8 * aside + up
            if not 0 <= file + aside < 8:
                continue
            if rank == last:
                yield from ((origin, target, taken, becomes) for taken in "QNBR" for becomes in "QNBR")
                continue
            yield from ((origin, target, taken, "") for taken in "QNBRP")
            if rank == fifth:
                yield origin, target, "e.p.", ""


def all_words():
    """Each move by its word, from 1 on."""
    for colour in (0, 1):
        for kind, (ways, most) in WAYS.items():
            for origin in range(64):
                for way in ways:
                    for target in steps(origin, way, most):
                        yield from ((colour, kind, origin, target, taken, "") for taken in TAKEN)
    for colour in (0, 1):
        yield from ((colour, "P", *move) for move in moves_of_pawns(colour))


WORDS = {move: word for word, move in enumerate(all_words(), 1)}
CASTLING, CASTLING_960, PLACED, PLACED_PAWNS = 0xB129, 0xB12D, 0xC02D, 0xC2AD


def word_of(board, uci, start):
    """The word of a move that is about to be played; `start` is the number of the Chess960 start or None."""
    before = dict(board.pieces)
    move = board.play(uci)
    if move.is_null:
        return NULL
    if move.castling:
        place = 2 * move.colour + (move.castling == "short")
        return CASTLING + place if start is None else CASTLING_960 + 4 * start + place
    taken = before[move.target][1] if move.target in before else ""
    if move.kind == "P" and move.origin >> 3 != move.target >> 3 and not taken:
        taken = "e.p."
    return WORDS[move.colour, move.kind, move.origin, move.target, taken, move.promotion]


def placed(square, colour, kind):
    """The word of a piece of a set-up."""
    if kind == "P":
        return PLACED_PAWNS + 48 * colour + 6 * (square >> 3) + (square & 7) - 1
    return PLACED + 320 * colour + 64 * "KQNBR".index(kind) + square


def setup_words(fen):
    """Number, side with castling, file of en passant, pieces."""
    _, turn, castling, passant, _, number = fen.split()
    rights = sum(bit for bit, letters in ((1, "QABCD"), (2, "KEFGH"), (4, "qabcd"), (8, "kefgh")) if set(letters) & set(castling))
    file = 0 if passant == "-" else "abcdefgh".index(passant[0]) + 1
    pieces = [placed(square, *piece) for square, piece in sorted(Board(fen).pieces.items())]
    return [int(number), (turn == "b") | rights << 8, file, *pieces]


def encode_moves(game):
    """Tag and content of the moves."""
    fen = game.stored_fen or game.fen
    words, start, tag = [], None, TAG_GAME
    if game.chess960:
        tag, start = TAG_960, game.chess960.number
        is_start = "/pppppppp/8/8/8/8/PPPPPPPP/" in fen and " KQkq " in fen
        words += [START, start] if is_start else [START, SETUP_960, *setup_words(fen)]
    elif fen and fen != START_FEN:
        words += [START, *setup_words(fen)]
    words.append(MOVES)
    root = tree.parse(game.moves)
    waiting, node, at, board = [], root, 0, Board(fen or START_FEN)
    while True:
        if at < len(node.children):
            child, more = node.children[at], at + 1 < len(node.children)
            before = board.copy()
            words.append(word_of(board, child.uci, start))
            if more:
                words.append(ALTERNATIVE)
                waiting.append((node, at + 1, before))
            node, at = child, 0
            continue
        words.append(END)
        if not waiting:
            return tag, struct.pack(f"<{len(words)}H", *words)
        node, at, board = waiting.pop()


# ---------------------------------------------------------------- annotations


def stored_order(root):
    """The moves as the older format counts them: what follows a move before what replaces it."""
    waiting, order = list(reversed(root.children)), []
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(node.children)
    return order


def pgn_order(node):
    """The moves as PGN shows them: what replaces a move before what follows it."""
    while node.children:
        main, *others = node.children
        yield main
        for other in others:
            yield other
            yield from pgn_order(other)
        node = main


def string(raw):
    """Length and bytes."""
    return struct.pack("<i", len(raw)) + raw


def converted(kind, payload):
    """The data of an annotation of the older format."""
    if kind in (0x02, 0x82):
        return struct.pack("<2H", payload[0], LANGUAGES[payload[1]]) + string(payload[2:])
    if kind == 0x03:
        return payload.ljust(3, b"\0")
    if kind in (0x04, 0x05, 0x15):
        return string(payload)
    if kind in (0x07, 0x16, 0x17, 0x22, 0x23, 0x25):
        return payload[::-1]
    if kind in (0x14, 0x18, 0x21):
        return payload
    if kind == 0x24:
        stages = [struct.unpack_from(">2IHB", payload, 11 * stage) for stage in range(3)]
        return b"\1" + b"".join(struct.pack("<2IHB", *stage) for stage in stages) + bytes(4)
    if kind == 0x26:
        (count,) = struct.unpack_from(">H", payload)
        points = [struct.unpack_from(">2Bh", payload, 2 + 4 * point) for point in range(count)]
        body = struct.pack("<H", count) + b"".join(struct.pack("<h2B", value, depth, kind) for kind, depth, value in points)
        return b"\1" + string(body)
    if kind == 0x1C:
        url_bytes = payload[2]
        return b"\1" + string(payload[3 : 3 + url_bytes]) + string(payload[4 + url_bytes :])
    if kind == 0x20:
        return struct.pack("<2BH", 1, 0, payload[1]) + string(payload[2:])
    raise ValueError(f"annotation {kind:#x} has no counterpart here")


def encode_annotations(game):
    """Blocks by ascending place, each with its annotations."""
    root = tree.parse(game.moves)
    places = {id(node): place for place, node in enumerate(pgn_order(root))}
    order = stored_order(root)
    blocks = {}
    for position, kind, payload in game.annotations:
        place = position if position < 0 else places[id(order[position])]
        blocks.setdefault(place, []).append(struct.pack("<H", kind) + converted(kind, payload))
    body = b"".join(struct.pack("<ii", place, len(of)) + b"".join(of) for place, of in sorted(blocks.items()))
    return body + struct.pack("<i", NO_MORE)


def can_be_converted(game):
    """Whether a game says nothing that only the older format can."""
    try:
        encode_annotations(game)
    except (ValueError, KeyError, IndexError, struct.error):
        return False
    return game.oddities == PLAIN and game.blob is None and not game.defect


# ---------------------------------------------------------------- frames


def check_sum(content):
    """Eight sums, the last first; what is shorter stands for itself."""
    part = len(content) // 8
    if not part:
        return content.ljust(8, b"\0")[::-1]
    return bytes(sum(content[at * part : (at + 1) * part]) & 255 for at in range(8))[::-1]


class Frames:
    """A file of frames, `.2cbg` or `.2cba`."""

    def __init__(self, marks):
        self.marks, self.body = marks, b""

    def append(self, tag, content, spare=96):
        """Add a frame and return its offset; it ends at a multiple of eight."""
        offset = 12 + len(self.body)
        spare += 8 - (offset + 34 + len(content) + spare) % 8
        length = len(content) + spare + 34
        head = bytes.fromhex("8877665544332211") + struct.pack("<2i", len(content), spare) + check_sum(content)
        self.body += head + struct.pack("<H", tag) + content + bytes(spare) + struct.pack("<q", length)
        return offset

    def file(self):
        """Head and frames."""
        return struct.pack("<qH", 12 + len(self.body), 12) + self.marks + self.body


# ---------------------------------------------------------------- entities

PLAYER, TOURNAMENT, SOURCE, UNUSED, TEAM, TAG = range(6)


class Entities:
    """`.2lid`."""

    def __init__(self, header_bytes, containers):
        self.header_bytes, self.containers = header_bytes, containers
        self.records = [[] for _ in containers]

    def refer(self, kind, record):
        """The number of an entity, given one when first met."""
        if record not in self.records[kind]:
            assert len(record) + 4 <= self.containers[kind]
            self.records[kind].append(record)
        return self.records[kind].index(record)

    def file(self):
        """Header, big-endian, and blocks up to the last record."""
        head = struct.pack(">2i", self.header_bytes, len(self.containers))
        for size, records in zip(self.containers, self.records, strict=True):
            head += struct.pack(">iqq", size, len(records), -1)
        body = bytearray()
        end = 0
        for block in range(max(map(len, self.records))):
            for size, records in zip(self.containers, self.records, strict=True):
                here = len(body)
                body += bytes(size)
                if block < len(records):
                    record = string(records[block])
                    body[here : here + len(record)] = record
                    end = here + len(record)
        return head.ljust(self.header_bytes, b"\0") + bytes(body[:end])


def raw(value):
    """Text as this format has it."""
    return string(value if isinstance(value, bytes) else value.encode())


def player(value, fide=-1):
    """Names and the FIDE id, -1 if nobody looked it up."""
    return raw(value.last) + raw(value.first) + struct.pack("<4iq", 0, 0, -1, 8, fide)


def tournament(value):
    """Place, title, dates and bytes between."""
    tail = bytearray(58)
    numbers = (value.kind, value.team_event, values.NATIONS[value.nation], 0, value.category, value.flags, value.rounds)
    struct.pack_into("<i7B", tail, 0, values.date(value.start), *numbers)
    tail += struct.pack("<Hi", 0, values.date(value.end)) + bytes(44)
    return raw(value.place) + raw(value.title) + bytes(tail)


def source(value):
    """Names, dates, version and quality."""
    dates = values.date(value.published), values.date(value.version_date)
    return raw(value.title) + raw(value.publisher) + struct.pack("<2i2H", *dates, value.version, value.quality)


def team(value):
    """Name, number, season, year and nation."""
    return raw(value.title) + struct.pack("<2BHB", value.number, value.is_season, value.year, values.NATIONS[value.nation])


def tag(titles):
    """Titles by the nation of their language."""
    return struct.pack("<i", len(titles)) + b"".join(struct.pack("<i", of) + raw(title) for of, title in sorted(titles))


# ---------------------------------------------------------------- the base

RATINGS = {
    FIDE: bytes.fromhex("0100010000004649444500000000"),
    SWEDISH: bytes.fromhex("0200640086000000000000000000"),
    bytes(16): bytes(14),
}


class NewerBase(Base):
    """The files of a database in the newer format."""

    def __init__(self, name, records, version=5, header_bytes=184, boards=None, fide=None):
        super().__init__(name, records, page="utf-8")
        self.version, self.boards, self.fide = version, boards or {}, fide or {}
        unused = 1024 if header_bytes == 184 else 0
        self.entities = Entities(header_bytes, (1024, 1120, 220, unused, 314, 532))

    def files(self):
        """Every file by its extension."""
        moves, annotations = Frames(bytes([0, self.version])), Frames(bytes(2))
        records = b""
        for number, record in enumerate(self.records, 1):
            if isinstance(record, Text):
                records += self._text(number, record, moves)
            else:
                records += self._game(number, record, moves, annotations)
        used = 38 if self.version == 5 else 34
        head = bytes(8) + struct.pack("<2H2BHi", used, RECORD_BYTES, 0, self.version, 0, len(self.records) + 1)
        return {
            "2cbh": head.ljust(RECORD_BYTES, b"\0") + records,
            "2cbg": moves.file(),
            "2cba": annotations.file(),
            "2lid": self.entities.file(),
            "ini": f"[Descr2CBG]\r\nTitle={self.title}\r\nType=0\r\n".encode(),
        }

    def _player(self, value):
        return self.entities.refer(PLAYER, player(value, self.fide.get(value.last, -1)))

    def _tag(self, titles):
        return self.entities.refer(TAG, tag(titles))

    def _game(self, number, game, moves, annotations):
        """0 marks, 8 places and ids of 8, 88 result, 90 round, 96 ratings of 16, 128 opening and so on, 152 stamps."""
        at = moves.append(*encode_moves(game))
        annotations_at = annotations.append(TAG_ANNOTATIONS, encode_annotations(game), 192)
        kind = 0x81 if game.deleted else 0x01
        record = struct.pack("<4Bi", kind, 0, 1, 1, 0)
        titles = [(of, title) for of, title in zip(TAG_NATIONS, game.tag.titles)] if game.tag else []
        record += struct.pack(
            "<10q",
            at,
            annotations_at,
            self._player(game.white),
            self._player(game.black),
            self.entities.refer(TOURNAMENT, tournament(game.tournament)),
            self._player(Player(game.annotator.name)),
            self.entities.refer(SOURCE, source(game.source)),
            *(self.entities.refer(TEAM, team(of)) if of else -1 for of in game.teams),
            self._tag(titles),
        )
        board = self.boards.get(number, 0)
        record += struct.pack("<2B3h", values.RESULTS[game.result], game.line_evaluation, game.round, game.subround, board)
        for elo, rating in zip(game.elo, game.rating_types, strict=True):
            record += struct.pack("<h", elo) + RATINGS[rating]
        record += struct.pack("<2HIHh", eco_word(game), game.medals, flags(game), magnitudes(game), move_count(game))
        record = record.ljust(152, b"\0") + struct.pack("<2q", CREATED + (number << 22), 0)
        return record.ljust(188, b"\0") + struct.pack("<i", values.date(game.date))

    def _text(self, number, text, moves):
        """0 marks, 8 place, 16 ids of 8, 48 stamp."""
        contents = {NATION_OF[values.TEXT_LANGUAGES[of]]: html for of, html in text.contents.items()}
        contents = {**dict.fromkeys((42, 43, 49, 53, 70, 103, 117), ""), **contents}
        body = b"".join(struct.pack("<i", of) + raw(html) for of, html in sorted(contents.items()))
        at = moves.append(TAG_TEXT, struct.pack("<H2i", 5, len(body) + 4, len(contents)) + body, 192)
        titles = [(NATION_OF[values.TEXT_LANGUAGES[of]], title) for of, title in text.titles.items()]
        kind = 0x83 if text.deleted else 0x03
        record = struct.pack("<4Bi", kind, 0, 1, 3, 0) + struct.pack(
            "<8q",
            at,
            self.entities.refer(TOURNAMENT, tournament(text.tournament)),
            self.entities.refer(SOURCE, source(text.source)),
            self._player(Player(text.annotator.name)),
            self._tag(titles),
            CREATED + (number << 22),
            0,
            1,
        )
        return record.ljust(RECORD_BYTES, b"\0")


