"""Entities for the copies of a base: its own, and namesakes of them."""

import struct
from contextlib import suppress
from math import inf

from .entities import MAGIC, Player, Team, Tournament, encode_file, text_at

# Where the names stand that tell the entity, the one to change first: offset and size.
NAMES = {Player: ((0, 30), (30, 20)), Tournament: ((0, 40),), Team: ((0, 45),)}
SYLLABLES = (
    "son berg dal man ski vic lund feld ton quist bach gaard wood field mark stein burg rup nen dze"
    " moor worth well ford ley stad haus thal horst wald strand fors brook gate land ham by stone hill mann"
).split()


class Cast:
    """The entities of one kind: those of the base, then their namesakes.

    A set of names serves one copy of the base at a time; set 0 is that of the base. An entity gets its id when a game
    first names it, as in ChessBase.
    """

    def __init__(self, kind, content):
        capacity, _, magic, size, _, _, extra = struct.unpack_from("<7i", content)
        if (magic, size) != (MAGIC, kind.SIZE):
            raise ValueError(f".{kind.EXTENSION} is no file of {kind.__name__.lower()}s")
        first, step = 28 + extra, 9 + size
        self.kind, self.old_header = kind, extra == 0
        self.stored = [content[at + 9 : at + step - 8] for at in range(first, first + capacity * step, step)]
        self.sets, self.limit = [{}], inf
        self.number, self.current = 0, self.sets[0]
        self.originals, self.data, self.keys = [], [], set()
        self.counts, self.first_games = [], []

    def multiply(self, sets, limit=inf):
        """Have that many sets of names, and in all at most that many entities."""
        self.sets, self.limit = [{} for _ in range(sets)], limit

    def begin(self, copy):
        """Name the entities of a copy from now on."""
        self.number = copy % len(self.sets)
        self.current = self.sets[self.number]

    def refer(self, original, game):
        """The id that stands for one of the base's entities in a record of this copy, counted."""
        number = self.current.get(original)
        if number is None:
            number = self.current[original] = self._find_or_add(original, game)
        self.counts[number] += 1
        return number

    def _find_or_add(self, original, game):
        if original >= len(self.stored):
            raise ValueError(f"a record names number {original} of {len(self.stored)} in .{self.kind.EXTENSION}")
        data = self.stored[original]
        if self.number > 0:
            if len(self.data) >= self.limit or is_unnamed(self.kind, data):
                return self.sets[0][original]
            data = self._unused_name(data)
        self.keys.add(self.kind.key_of(data))
        self.originals.append(original)
        self.data.append(data)
        self.counts.append(0)
        self.first_games.append(game)
        return len(self.data) - 1

    def _unused_name(self, data):
        number = self.number
        while self.kind.key_of(renamed := rename(self.kind, data, number)) in self.keys:
            number += 1
        return renamed

    def file(self):
        """The entity file, with references as counted."""
        references = zip(self.counts, self.first_games, strict=True)
        records = [data + struct.pack("<2i", *each) for data, each in zip(self.data, references, strict=True)]
        return encode_file(self.kind, records, self.old_header)


def is_unnamed(kind, data):
    """Whether an entity is the empty one, of which there is one at most."""
    return not any(text_at(data, *place) for place in NAMES[kind])


def rename(kind, data, number):
    """The same entity with another name: players get syllables behind their last name, others a number."""
    _, size = NAMES[kind][0]
    suffix = syllables(number) if kind is Player else f" {number + 1}"
    return lengthen(text_at(data, 0, size), suffix.encode(), size) + data[size:]


def syllables(number):
    """A number from 1 on in syllables, the shortest ones first."""
    word = ""
    while number:
        number, digit = divmod(number - 1, len(SYLLABLES))
        word = SYLLABLES[digit] + word
    return word


def lengthen(name, suffix, size):
    """A text field of a name, cut so that the suffix and a NUL fit behind it; in UTF-8 between characters."""
    kept = name[: size - 1 - len(suffix)]
    with suppress(UnicodeDecodeError):
        name.decode("utf-8")
        kept = kept.decode("utf-8", "ignore").encode()
    return (kept + suffix).ljust(size, b"\0")
