"""A base as it lies on disk: its records, and what of them has to change when they are written again."""

import struct
from dataclasses import dataclass

from .base import CBH_RECORD_BYTES
from .entities import KINDS, Annotator, Player, Source, Tag, Team, Tournament
from .namesakes import Cast, is_unnamed

REQUIRED = ("cbh", "cbg", "cba", "cbp", "cbt", "cbc", "cbs")
CBJ_HEADER_BYTES = CBTT_HEADER_BYTES = 32
LARGEST_OFFSET = 2**32 - 1
# Where a record of `.cbh` has its ids, three bytes each, and a record of `.cbj` four.
GAME_IDS = ((Player, 9), (Player, 12), (Tournament, 15), (Annotator, 18), (Source, 21))
TEXT_IDS = ((Tournament, 7), (Source, 10), (Annotator, 13))
EXTENDED_IDS = ((Team, 0), (Team, 4), (Tag, 116))
USED, TEXT, DELETED = 0x01, 0x02, 0x80


class Blobs:
    """`.cbg` or `.cba` of the base, and how it is written again and again.

    0:2 bytes of the header, 2:4 size of the file, 6:4 wasted bytes; in the longer header 10:8 and 18:8 the same.
    """

    def __init__(self, content):
        self.header_bytes, _, self.wasted = struct.unpack_from(">H2I", content)
        self.header, self.body = content[: self.header_bytes], content[self.header_bytes :]
        self.is_shared, self.copies, self.size = False, 0, self.header_bytes

    def share_if_too_large(self, copies):
        """All copies use the bytes of the first if the offsets of the last would not reach its own."""
        self.is_shared = self.header_bytes + copies * len(self.body) > LARGEST_OFFSET

    def check(self, offset):
        """An offset of a record must lie in the file."""
        if not self.header_bytes <= offset < self.header_bytes + len(self.body):
            raise ValueError("a record has its moves or annotations outside the file")

    def shift(self, copy):
        """What a copy adds to the offsets of the base."""
        return 0 if self.is_shared else copy * len(self.body)

    def write(self, file, body):
        """Append a copy, of which the last may be cut short."""
        if self.copies == 0 or not self.is_shared:
            self.size += file.write(body)
            self.copies += 1

    def final_header(self):
        """The header of all that was written."""
        wasted = self.wasted * self.copies
        header = bytearray(self.header)
        struct.pack_into(">2I", header, 2, self.size, wasted)
        if self.header_bytes >= 26:
            struct.pack_into(">2Q", header, 10, self.size, wasted)
        return header


@dataclass
class Record:
    """One record of the base, and what of it differs from copy to copy."""

    header: bytes  # of .cbh
    extended: bytes  # of .cbj
    moves_at: int
    annotations_at: int  # 0: none
    names: list  # entities in the header: their cast, where the id stands, the id
    extended_names: list

    @property
    def is_shown_game(self):
        """Whether this is a game that is not deleted."""
        return self.header[0] & (USED | TEXT | DELETED) == USED


class Base:
    """The files of the base, and its records as they are repeated."""

    def __init__(self, path):
        stem = path.stem.lower()
        beside = [found for found in sorted(path.parent.iterdir()) if found.stem.lower() == stem]
        self.paths = {found.suffix[1:].lower(): found for found in beside}
        missing = [extension for extension in REQUIRED if extension not in self.paths]
        if missing:
            raise ValueError(f"{path}: there is no {' and no '.join('.' + extension for extension in missing)}")
        self.cbh = self.read("cbh")
        self.count = min(struct.unpack_from(">I", self.cbh, 6)[0] - 1, len(self.cbh) // CBH_RECORD_BYTES - 1)
        self.cbj = self.read("cbj")
        self.moves, self.annotations = Blobs(self.read("cbg")), Blobs(self.read("cba"))
        self.casts = {kind: Cast(kind, self.read(kind.EXTENSION)) for kind in KINDS if kind.EXTENSION in self.paths}
        self.extended_bytes = struct.unpack_from("<i", self.cbj, 4)[0] if self.cbj else 0
        if self.cbj and struct.unpack_from("<i", self.cbj, 8)[0] < self.count:
            raise ValueError(".cbj has fewer records than there are games")
        self.records = [self._record(index) for index in range(self.count)]

    def read(self, extension):
        """The bytes of a file, none if there is no such file."""
        return self.paths[extension].read_bytes() if extension in self.paths else b""

    def _record(self, index):
        """A record: 0 its kind, 1:4 moves, 5:4 annotations, which a text has not."""
        header = self.cbh[(index + 1) * CBH_RECORD_BYTES :][:CBH_RECORD_BYTES]
        size = self.extended_bytes
        extended = self.cbj[CBJ_HEADER_BYTES + index * size :][:size]
        if not header[0] & USED:
            return Record(header, extended, 0, 0, [], [])
        moves_at, annotations_at = struct.unpack_from(">2I", header, 1)
        is_text = header[0] & TEXT
        annotations_at = 0 if is_text else annotations_at
        self.moves.check(moves_at)
        if annotations_at:
            self.annotations.check(annotations_at)
        ids = TEXT_IDS if is_text else GAME_IDS
        names = [(self.casts[kind], at, int.from_bytes(header[at : at + 3], "big")) for kind, at in ids]
        return Record(header, extended, moves_at, annotations_at, names, list(self._extended_names(extended)))

    def _extended_names(self, extended):
        """Teams and tag of a record, as far as its version has them and they exist."""
        for kind, at in EXTENDED_IDS:
            if kind in self.casts and at + 4 <= len(extended):
                (original,) = struct.unpack_from(">i", extended, at)
                if 0 <= original < len(self.casts[kind].stored):
                    yield self.casts[kind], at, original

    def used(self, kind):
        """How many entities with a name the records have, and how many without."""
        cast = self.casts[kind]
        ids = {original for record in self.records for named, _, original in record.names if named is cast}
        unnamed = sum(original < len(cast.stored) and is_unnamed(kind, cast.stored[original]) for original in ids)
        return len(ids) - unnamed, unnamed
