"""A whole database: what a recipe says of each record, the files that hold it, and what a reader must find in them."""

import json
import struct
from dataclasses import dataclass, field, replace

from . import tree, values
from .entities import KINDS, Annotator, Index, Player, Source, Tag, Team, Tournament, shown
from .moves import PLAIN, TEXT_BIT, Chess960, Oddities, wrap
from .moves import encode as encode_moves

CBH_RECORD_BYTES = 46
CBJ_VERSION, CBJ_RECORD_BYTES = 11, 120
CBTT_VERSION, CBTT_RECORD_BYTES = 3, 65
NO_TEAM = NO_TAG = NO_MEDIA = -1
FIDE = bytes.fromhex("00010001004649444500000000000000")
SWEDISH = bytes.fromhex("00020064860000000000000000000000")
# 2016-08-01, in 1/1024 seconds since 2008-12-01; each record gets a stamp of its own.
CREATED = 247_793_503_465
FLAG_SETUP, FLAG_VARIATIONS, FLAG_UNORTHODOX = 0x1, 0x2, 0x8000000
FLAG_OF_ANNOTATION = {
    kind: 1 << bit
    for kind, bit in (
        *((0x02, 2), (0x82, 2), (0x03, 3), (0x04, 4), (0x05, 5), (0x07, 7), (0x09, 9), (0x10, 16), (0x11, 17)),
        *((0x20, 18), (0x13, 19), (0x14, 20), (0x15, 21), (0x16, 22), (0x17, 23), (0x18, 24), (0x61, 25), (0x1C, 28)),
    )
}


@dataclass(frozen=True)
class Game:
    """One game, as the recipe tells it."""

    white: Player = Player()
    black: Player = Player()
    moves: str = ""
    result: str = "line"
    tournament: Tournament = Tournament()
    annotator: Annotator = Annotator()
    source: Source = Source()
    date: str = ""
    round: int = 0
    subround: int = 0
    elo: tuple = (0, 0)
    eco: str = ""
    raw_eco: int | None = None
    line_evaluation: int = 0
    medals: int = 0
    teams: tuple = (None, None)
    tag: Tag | None = None
    rating_types: tuple = (FIDE, FIDE)
    deleted: bool = False
    fen: str | None = None  # as a reader must show it
    stored_fen: str | None = None  # as it is stored, where that differs
    mode: int = 0
    chess960: Chess960 | None = None
    annotations: tuple = ()  # (position, type, payload)
    oddities: Oddities = PLAIN
    blob: bytes | None = None  # instead of encoding the moves
    blob_has_bit_7: bool = False
    defect: str | None = None  # what the game's own defect must mention
    expected: dict = field(default_factory=dict)  # what a reader finds other than the recipe says

    def encode(self):
        """The blob of the moves."""
        if self.blob is not None:
            return self.blob
        blob = encode_moves(self.moves, self.stored_fen or self.fen, self.mode, self.chess960, self.oddities)
        return bytes([blob[0] | TEXT_BIT]) + blob[1:] if self.blob_has_bit_7 else blob


@dataclass(frozen=True)
class Text:
    """A guiding text: titles by language, contents by language."""

    titles: dict
    contents: dict
    version: int = 3
    tournament: Tournament = Tournament()
    annotator: Annotator = Annotator()
    source: Source = Source()
    round: int = 0
    deleted: bool = False

    def encode(self, page):
        """The blob: titles and contents, little-endian but for the size.

        Contents are language and text, in version 1 with lengths of 16 bits, in version 2 of 32, each with format data
        behind it, here empty; in version 3 HTML with a zero of 32 bits behind it.
        """
        length = "<H" if self.version == 1 else "<I"
        body = struct.pack("<2H", self.version, len(self.titles))
        for language, title in self.titles.items():
            encoded = title.encode(page)
            body += struct.pack("<2H", values.TEXT_LANGUAGES[language], len(encoded)) + encoded
        body += struct.pack("<BH", 1, len(self.contents))
        for language, content in self.contents.items():
            encoded = content.encode("utf-8" if self.version == 3 else page)
            body += struct.pack("<H", values.TEXT_LANGUAGES[language]) + struct.pack(length, len(encoded)) + encoded
            body += struct.pack(length, 0)
        return wrap(TEXT_BIT, body)


class Base:
    """The files of a database under construction."""

    def __init__(self, name, records, page="cp1252", old=False, title=None):
        self.name, self.records, self.page, self.old = name, records, page, old
        self.title = title or name
        self.indexes = {kind: Index(kind) for kind in KINDS}

    def files(self):
        """Every file by its extension."""
        header_bytes = 10 if self.old else 26
        cbg, cba = Blobs(header_bytes), Blobs(header_bytes)
        cbh = cbj = b""
        for number, record in enumerate(self.records, 1):
            moves_at = cbg.append(record.encode(self.page) if isinstance(record, Text) else record.encode())
            annotations_at = 0
            if isinstance(record, Text):
                cbh += self._text_record(number, record, moves_at)
            else:
                if record.annotations:
                    annotations_at = cba.append(encode_annotations(number, record.annotations))
                cbh += self._game_record(number, record, moves_at, annotations_at)
            cbj += self._extended_record(number, record, moves_at, annotations_at)
        files = {"cbh": self._cbh_header() + cbh, "cbg": cbg.file(), "cba": cba.file()}
        for kind, index in self.indexes.items():
            if not (self.old and kind in (Team, Tag)):
                files[kind.EXTENSION] = index.encode(self.page, self.old)
        if not self.old:
            files |= self._newer_files(cbj)
        return files

    def _newer_files(self, cbj):
        ini = f"[DescrCBG]\r\nType=0\r\nTitle={self.title}\r\nUsage=1\r\nAccess={values.date('2016.08.01')}\r\n"
        return {
            "cbj": struct.pack("<3i", CBJ_VERSION, CBJ_RECORD_BYTES, len(self.records)) + bytes(20) + cbj,
            "cbtt": encode_tournament_extras(self.indexes[Tournament].ids),
            "cbm": struct.pack("<4i", 1, 1024, 0, -1) + bytes(16),
            "ini": ini.encode(self.page),
        }

    def _cbh_header(self):
        next_id = len(self.records) + 1
        return struct.pack(
            ">BHHBI30xI2x", 0, 36 if self.old else 44, CBH_RECORD_BYTES, 1, next_id, 0 if self.old else next_id
        )

    def _refer(self, number, *entities):
        return [self.indexes[type(entity)].refer(entity, number) for entity in entities]

    def _game_record(self, number, game, moves_at, annotations_at):
        """0 kind, 1:4 moves, 5:4 annotations, 9 five ids of 3, 24:3 date, 27 result, 28 evaluation, 29 round, subround,
        31 two ratings of 2, 35:2 opening, 37:2 medals, 39:4 flags, 43:2 magnitudes, 45 number of moves.
        """
        ids = self._refer(number, game.white, game.black, game.tournament, game.annotator, game.source)
        record = struct.pack(">B2I", 0x81 if game.deleted else 0x01, moves_at, annotations_at)
        record += b"".join(value.to_bytes(3, "big") for value in [*ids, values.date(game.date)])
        record += bytes([values.RESULTS[game.result], game.line_evaluation, game.round, game.subround])
        record += struct.pack(">2H2H", *game.elo, eco_word(game), game.medals)
        return record + struct.pack(">IHB", flags(game), magnitudes(game), move_count(game))

    def _text_record(self, number, text, moves_at):
        """0 kind, 1:4 text, 7 ids of 3 for tournament, source, annotator, 16 round, zeros."""
        ids = self._refer(number, text.tournament, text.source, text.annotator)
        record = struct.pack(">BIxx", 0x83 if text.deleted else 0x03, moves_at)
        record += b"".join(value.to_bytes(3, "big") for value in ids) + bytes([text.round])
        return record.ljust(CBH_RECORD_BYTES, b"\0")

    def _extended_record(self, number, record, moves_at, annotations_at):
        """0 two teams, 8 media, 12:8 annotations, 20:4 and 24:4 and 28:2 material, 30:8 moves, 38 two rating types,
        70 two unknown numbers, 78:2 saves, 80:8 created, 88:20 endgame, 108:8 saved, 116:4 tag.
        """
        teams, tag, ratings = [NO_TEAM, NO_TEAM], NO_TAG, (FIDE, FIDE)
        if isinstance(record, Game):
            teams = [self._refer(number, team)[0] if team else NO_TEAM for team in record.teams]
            tag = self._refer(number, record.tag)[0] if record.tag else NO_TAG
            ratings = record.rating_types
        encoded = struct.pack(">3iQIIHQ", *teams, NO_MEDIA, annotations_at, 0, 0, 0xFFFE, moves_at)
        encoded += b"".join(ratings) + struct.pack(">IIHQ", 0, 0, 1, CREATED + number)
        return encoded + bytes(20) + struct.pack(">Qi", 0, tag)

    def expectations(self):
        """One line of JSON for each record."""
        for number, record in enumerate(self.records, 1):
            if isinstance(record, Text):
                titles = [[values.TEXT_LANGUAGES[code], title] for code, title in record.titles.items()]
                yield json.dumps(
                    {"id": number, "deleted": record.deleted, "titles": titles, "kind": "text"}, ensure_ascii=False
                )
            else:
                yield json.dumps(expect(number, record, self.page), ensure_ascii=False)


class Blobs:
    """A file of blobs, `.cbg` or `.cba`: 2 header size, 4 file size, 4 wasted bytes, in newer files both again in 8."""

    def __init__(self, header_bytes):
        self.header_bytes, self.body = header_bytes, b""

    def append(self, blob):
        """Add a blob and return its offset."""
        offset = self.header_bytes + len(self.body)
        self.body += blob
        return offset

    def file(self):
        """Header and blobs."""
        size = self.header_bytes + len(self.body)
        header = struct.pack(">H2I2Q", self.header_bytes, size, 0, size, 0)
        return header[: self.header_bytes] + self.body


def encode_annotations(number, annotations):
    """A record of `.cba`.

    3 game, 4 constant, 3 number of annotations + 1, 4 size; each: 3 position, 1 type, 2 size with these 6, payload.
    """
    body = b"".join(
        (position & 0xFFFFFF).to_bytes(3, "big") + struct.pack(">BH", kind, len(payload) + 6) + payload
        for position, kind, payload in annotations
    )
    head = number.to_bytes(3, "big") + bytes.fromhex("01000e0e") + (len(annotations) + 1).to_bytes(3, "big")
    return head + (len(body) + 14).to_bytes(4, "big") + body


def encode_tournament_extras(tournaments):
    """`.cbtt`: version, record size and last index in a header of 32.

    A record: 0:16 coordinates, 16:34 unknown, 50:11 tie-breaks, 61:4 end date, big-endian.
    """
    filler = (bytes(10) + b"\7") * 3 + b"\0"
    records = b"".join(
        bytes(16) + filler + b"\1" * 10 + b"\0" + values.date(tournament.end).to_bytes(4, "big")
        for tournament in tournaments
    )
    return struct.pack("<3i", CBTT_VERSION, CBTT_RECORD_BYTES, max(len(tournaments) - 1, 0)) + bytes(20) + records


def text(words, language=0, page="cp1252"):
    """The payload of a text annotation."""
    return bytes([0, language]) + words.encode(page)


def eco_word(game):
    """What the header stores for the opening."""
    if game.raw_eco is not None:
        return game.raw_eco
    return values.CHESS960_ECO + game.chess960.number if game.chess960 else values.eco(game.eco)


def flags(game):
    """What the header says the game has."""
    root = tree.parse(game.moves)
    found = FLAG_SETUP if game.fen else 0
    found |= FLAG_VARIATIONS if count_moves(root) > len(tree.main_line(root)) else 0
    found |= FLAG_UNORTHODOX if game.chess960 else 0
    for _, kind, _ in game.annotations:
        found |= FLAG_OF_ANNOTATION.get(kind, 0)
    return found


def magnitudes(game):
    """How much it has: the moves in variations, and more than 200 bytes of text."""
    root = tree.parse(game.moves)
    moves_aside = count_moves(root) - len(tree.main_line(root))
    text_bytes = sum(len(payload) - 2 for _, kind, payload in game.annotations if kind in (0x02, 0x82))
    return sum(moves_aside > limit for limit in (50, 300, 1000)) | (text_bytes > 200) << 2


def move_count(game):
    """Moves of the main line, at most 255."""
    plies = len(tree.main_line(tree.parse(game.moves)))
    black_begins = bool(game.fen) and game.fen.split()[1] == "b"
    return min(255, (plies + 1 + black_begins) // 2)


def count_moves(root):
    """All moves of a tree."""
    count, waiting = -1, [root]
    while waiting:
        node = waiting.pop()
        count += 1
        waiting += node.children
    return count


def count_variations(root):
    """All lines that replace a move."""
    count, waiting = 0, [root]
    while waiting:
        node = waiting.pop()
        count += max(len(node.children) - 1, 0)
        waiting += node.children
    return count


def expect(number, game, page):
    """What a reader must find in a game."""
    readable = replace(game, moves="", fen=None) if game.blob is not None else game
    root = tree.parse(readable.moves)
    main = tree.main_line(root)
    found = {
        "id": number,
        "deleted": game.deleted,
        "headers": expect_headers(game, page),
        "fen": readable.fen,
        "mode": game.mode,
        "plies": len(main),
        "nvar": count_variations(root),
        "nodes": count_moves(root),
        "main": " ".join(main),
        "tree": tree.spell(root),
        "ann": [[position, kind, payload.hex()] for position, kind, payload in game.annotations],
        "tags": expect_tags(game, page),
    }
    if game.defect:
        found["defect"] = game.defect
    for key, value in game.expected.items():
        found[key] = found[key] | value if isinstance(value, dict) else value
    return found


def expect_headers(game, page):
    """The header fields, spelled as in the truth of the real bases."""
    return {
        "White": game.white.spell(page),
        "Black": game.black.spell(page),
        "Event": shown(game.tournament.title, page),
        "Site": shown(game.tournament.place, page),
        "Annotator": shown(game.annotator.name, page),
        "Date": game.date or "????.??.??",
        "Result": game.result,
        "eval": game.line_evaluation,
        "Round": game.round,
        "Sub": game.subround,
        "WElo": game.elo[0],
        "BElo": game.elo[1],
        "eco": eco_word(game),
        "medals": game.medals,
        "flags": f"{flags(game):08x}",
        "mag": f"{magnitudes(game):04x}",
        "nmoves": move_count(game),
    }


def expect_tags(game, page):
    """Further PGN tags that must appear, with their values."""
    tournament, source = game.tournament, game.source
    tags = {
        "Variant": "Chess960" if game.chess960 else "",
        "EventDate": values.spell_date(tournament.start),
        "EventEndDate": values.spell_date(tournament.end),
        "EventType": values.spell_event_type(tournament.kind, tournament.team_event),
        "EventRounds": tournament.rounds,
        "EventCountry": tournament.nation,
        "EventCategory": tournament.category,
        "SourceTitle": shown(source.title, page),
        "Source": shown(source.publisher, page),
        "SourceDate": values.spell_date(source.published),
        "SourceVersion": source.version,
        "SourceVersionDate": values.spell_date(source.version_date),
        "SourceQuality": source.quality,
        "CbhResult": game.result if game.result in ("-:+", "=:=", "+:-", "0-0") else "",
        "CbhLineEval": game.line_evaluation if game.result == "line" else 0,
        "CbhMedals": game.medals,
    }
    sub_code = values.spell_eco(eco_word(game))[1]
    tags["CbhSubEco"] = f"{sub_code:02}" if sub_code else ""
    for side, team in zip(("White", "Black"), game.teams, strict=True):
        if team:
            title = values.spell_team(shown(team.title, page), team.number)
            tags |= {f"{side}Team": title, f"{side}TeamCountry": team.nation}
    for side, player in (("White", game.white), ("Black", game.black)):
        if not player.last and player.first:
            tags[f"Cbh{side}"] = f"|{shown(player.first, page)}"
    titles = game.tag.titles if game.tag else ()
    tags |= {f"CbhTag{suffix}": title for suffix, title in zip(("", "De", "Fr", "Es", "It", "Nl"), titles)}
    return {name: str(value) for name, value in tags.items() if value}
