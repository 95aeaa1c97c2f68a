"""Players, tournaments, annotators, sources, teams and game tags, and the files they are kept in.

An entity file is little-endian:

    0   4   number of records        4   4   root of the tree       8   4   1234567890
    12  4   bytes of data per record 16  4   first deleted, -1 none 20  4   records alive
    24  4   extra header bytes: 4, and those follow; 0 in old files

    record: 4 left child, 4 right child (-1 none), 1 balance, data; the data ends with 4 reference count, 4 first game

Text is given as `str`, put into the base's page with zeros after it, or as `bytes`, which fill the field as they are.
"""

import struct
from dataclasses import dataclass
from typing import ClassVar

from .values import NATIONS, date

NONE = -1
MAGIC = 1234567890
SIGNED_ORDER = bytes(byte ^ 0x80 for byte in range(256))  # negative bytes come first


def field(value, size, page):
    """A text field of `size` bytes."""
    encoded = value if isinstance(value, bytes) else value.encode(page)
    assert len(encoded) <= size, f"{value!r} does not fit {size} bytes"
    return encoded.ljust(size, b"\0")


def shown(value, page):
    """What a reader sees of a text field: everything before the first NUL."""
    return value.split(b"\0")[0].decode(page) if isinstance(value, bytes) else value


def text_at(data, offset, size):
    """The bytes of a stored text field, without the garbage behind the NUL."""
    return bytes(data[offset : offset + size]).split(b"\0")[0]


@dataclass(frozen=True)
class Player:
    """A player, `.cbp`."""

    EXTENSION: ClassVar = "cbp"
    SIZE: ClassVar = 58
    last: str | bytes = ""
    first: str | bytes = ""

    def encode(self, page):
        """0:30 last name, 30:20 first name."""
        return field(self.last, 30, page) + field(self.first, 20, page)

    @staticmethod
    def key_of(data):
        """By last, then by first name."""
        return text_at(data, 0, 30), text_at(data, 30, 20)

    def spell(self, page):
        """`Last, First`, or the one there is."""
        return ", ".join(name for name in (shown(self.last, page), shown(self.first, page)) if name)


@dataclass(frozen=True)
class Tournament:
    """A tournament, `.cbt`; its end date stands in `.cbtt`."""

    EXTENSION: ClassVar = "cbt"
    SIZE: ClassVar = 90
    title: str | bytes = ""
    place: str | bytes = ""
    start: str = ""
    kind: int = 0
    team_event: bool = False
    nation: str = ""
    category: int = 0
    flags: int = 0
    rounds: int = 0
    end: str = ""

    def encode(self, page):
        """0:40 title, 40:30 place, 70:4 date, then bytes: type, team event, nation, 0, category, flags, rounds, 0."""
        numbers = (self.kind, self.team_event, NATIONS[self.nation], 0, self.category, self.flags, self.rounds, 0)
        return (
            field(self.title, 40, page) + field(self.place, 30, page) + struct.pack("<i8B", date(self.start), *numbers)
        )

    @staticmethod
    def key_of(data):
        """By year, the latest first and none last, then title, place, month, day, those backwards too."""
        (start,) = struct.unpack_from("<i", data, 70)
        return -(start >> 9), text_at(data, 0, 40), text_at(data, 40, 30), -(start & 511)


@dataclass(frozen=True)
class Annotator:
    """An annotator, `.cbc`."""

    EXTENSION: ClassVar = "cbc"
    SIZE: ClassVar = 53
    name: str | bytes = ""

    def encode(self, page):
        """0:45 name."""
        return field(self.name, 45, page)

    @staticmethod
    def key_of(data):
        """By name."""
        return (text_at(data, 0, 45),)


@dataclass(frozen=True)
class Source:
    """A source, `.cbs`."""

    EXTENSION: ClassVar = "cbs"
    SIZE: ClassVar = 59
    title: str | bytes = ""
    publisher: str | bytes = ""
    published: str = ""
    version_date: str = ""
    version: int = 0
    quality: int = 0

    def encode(self, page):
        """0:25 title, 25:16 publisher, 41:4 publication, 45:4 date of the version, 49:1 version, 50:1 quality."""
        numbers = (date(self.published), date(self.version_date), self.version, self.quality)
        return field(self.title, 25, page) + field(self.publisher, 16, page) + struct.pack("<2i2B", *numbers)

    @staticmethod
    def key_of(data):
        """By title alone."""
        return (text_at(data, 0, 25),)


@dataclass(frozen=True)
class Team:
    """A team, `.cbe`."""

    EXTENSION: ClassVar = "cbe"
    SIZE: ClassVar = 63
    title: str | bytes = ""
    number: int = 0
    is_season: bool = False
    year: int = 0
    nation: str = ""

    def encode(self, page):
        """0:45 title, 45:4 number, 49:1 season, 50:4 year, 54:1 nation."""
        numbers = (self.number, self.is_season, self.year, NATIONS[self.nation])
        return field(self.title, 45, page) + struct.pack("<iBiB", *numbers)

    @staticmethod
    def key_of(data):
        """By title, number, seasons first, year, nation."""
        number, season, year, nation = struct.unpack_from("<iBiB", data, 45)
        return text_at(data, 0, 45), number, not season & 1, year, nation


@dataclass(frozen=True)
class Tag:
    """A game tag, `.cbl`, with its titles in English, German, French, Spanish, Italian and Dutch."""

    EXTENSION: ClassVar = "cbl"
    SIZE: ClassVar = 1608
    titles: tuple = ()

    def encode(self, page):
        """Eight titles of 200 bytes, the last two spare."""
        return b"".join(field(title, 200, page) for title in self.titles + ("",) * (8 - len(self.titles)))

    @staticmethod
    def key_of(data):
        """By the titles in turn."""
        return tuple(text_at(data, 200 * number, 200) for number in range(8))


KINDS = (Player, Tournament, Annotator, Source, Team, Tag)


class Index:
    """The entities of one file, numbered as they are first asked for, with their references."""

    def __init__(self, kind):
        self.kind = kind
        self.ids = {}
        self.references = []  # [count, first game] by id

    def id_of(self, entity):
        """The id of an entity, new if it is."""
        if entity not in self.ids:
            self.ids[entity] = len(self.references)
            self.references.append([0, 0])
        return self.ids[entity]

    def refer(self, entity, game):
        """The id of an entity that a record refers to, counted."""
        number = self.id_of(entity)
        reference = self.references[number]
        reference[0] += 1
        reference[1] = reference[1] or game
        return number

    def encode(self, page, old_header=False):
        """The file."""
        records = [
            entity.encode(page) + struct.pack("<2i", *reference)
            for entity, reference in zip(self.ids, self.references, strict=True)
        ]
        return encode_file(self.kind, records, old_header)


def encode_file(kind, records, old_header=False):
    """An entity file of the data of its records, references included, in the order of their ids."""
    extra = 0 if old_header else 4
    # Newer player and team files compare bytes as unsigned, the others and all old ones as signed.
    signed = old_header or kind not in (Player, Team)
    tree = BalancedTree()
    for data in records:
        tree.insert(_comparable(kind.key_of(data), signed))
    count = len(records)
    header = struct.pack("<7i", count, tree.root, MAGIC, kind.SIZE, NONE, count, extra) + bytes(extra)
    return header + b"".join(
        struct.pack("<2ib", *node.children, node.balance) + data for node, data in zip(tree.nodes, records, strict=True)
    )


def _comparable(key, signed):
    if not signed:
        return key
    return tuple((part + b"\0").translate(SIGNED_ORDER) if isinstance(part, bytes) else part for part in key)


class _Node:
    def __init__(self, key):
        self.key = key
        self.children = [NONE, NONE]  # left, right
        self.balance = 0  # height of the right side less that of the left


class BalancedTree:
    """An AVL tree over numbered nodes; inserting by number gives the very links ChessBase writes."""

    def __init__(self):
        self.nodes = []
        self.root = 0

    def insert(self, key):
        """Append a node and hang it in the tree."""
        new = len(self.nodes)
        self.nodes.append(_Node(key))
        if new == 0:
            return
        path = []  # (node, side taken)
        at = self.root
        while at != NONE:
            side = int(key >= self.nodes[at].key)
            path.append((at, side))
            at = self.nodes[at].children[side]
        parent, side = path[-1]
        self.nodes[parent].children[side] = new
        self._rebalance(path)

    def _rebalance(self, path):
        while path:
            at, side = path.pop()
            node = self.nodes[at]
            node.balance += 1 if side else -1
            if node.balance == 0:
                return
            if abs(node.balance) == 2:
                top = self._rotate(at, side)
                if path:
                    above, above_side = path[-1]
                    self.nodes[above].children[above_side] = top
                else:
                    self.root = top
                return

    def _rotate(self, at, heavy):
        """Bring the heavy side of a node up and return the number of the new top."""
        light, sign = 1 - heavy, 1 if heavy else -1
        node = self.nodes[at]
        child_at = node.children[heavy]
        child = self.nodes[child_at]
        if child.balance == sign:
            node.children[heavy], child.children[light] = child.children[light], at
            node.balance = child.balance = 0
            return child_at
        inner_at = child.children[light]
        inner = self.nodes[inner_at]
        child.children[light], inner.children[heavy] = inner.children[heavy], child_at
        node.children[heavy], inner.children[light] = inner.children[light], at
        node.balance = -sign if inner.balance == sign else 0
        child.balance = sign if inner.balance == -sign else 0
        inner.balance = 0
        return inner_at
