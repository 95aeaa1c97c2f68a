"""Guiding texts of all three versions, their links and pictures."""

import struct
import zlib

from encoder import values
from encoder.base import Base, Game, Text
from encoder.entities import Annotator, Player, Source, Tournament

from . import Case

EMPTY_PAGE = "<html><body></body></html>"


def page(words):
    """A small HTML page."""
    return f'<html><head><meta charset="utf-8"></head><body><p>{words}</p></body></html>'


def link(fields, words="link"):
    """A link as ChessBase writes it."""
    return f'<a href="javascript:CBLink({fields})">{words}</a>'


def png(gray):
    """A picture of one point."""
    head, data = struct.pack(">2I5B", 1, 1, 8, 0, 0, 0, 0), zlib.compress(bytes([0, gray]), 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        for name, content in ((b"IHDR", head), (b"IDAT", data), (b"IEND", b""))
    )


def linked():
    """Links of every kind, the games and texts they mean, and pictures. Numbers count on from 8."""
    first, second = Tournament("First", "Graz", "2003.11.07"), Tournament("Second", "Oslo")
    links = [
        link("tag_game,Between,,Texts,,,, 0 0   0,0,0,0", "the only game: 4"),
        link("tag_game,Twin,A,Twin,B,Second,Oslo, 0 0   0,0,0,0", "by the event: 10"),
        link("tag_game,Twin,A,Twin,B,,, 7112003,0,0,0", "by the date: 9"),
        link("tag_game,Twin,A,Twin,B,,, 0 0   0,0,0,0", "one of two"),
        link("tag_game,Nobody,,Texts,,,, 0 0   0,0,0,0", "no game"),
        link("tag_text,Openings,,,0", "text 3"),
        link("tag_text,Twice,,,0", "one of two"),
        link("tag_text,Deleted,,,0", "deleted"),
        link("tag_player,A,Twin", "a player"),
        '<a href="https://example.org/?a=1&amp;b=2">elsewhere</a>',
        '<img src="texts.html\\Board 1.png" alt="fen:8/8/8/8/8/8/8/8 w - - 0 1;">',
    ]
    return [
        Text({"en": "Links <&>"}, {"en": page("<br>".join(links))}),
        Game(Player("Twin", "A"), Player("Twin", "B"), "e2e4", tournament=first),
        Game(Player("Twin", "A"), Player("Twin", "B"), "d2d4", tournament=second),
        Text({"en": "Twice", "any": "Any"}, {"any": page("Any language."), "en": page("English.")}),
        Text({"en": "Twice"}, {"fr": "un morceau" + link("tag_text,Eröffnungen,,,0") + "<!-- sans fin"}),
        Text({"en": "With an object"}, {"de": "A diagram: \x04\rand more."}, version=1),
        Text({"en": "Gone too"}, {"en": page(links[5] + links[-1]), "de": page(links[0])}, deleted=True),
    ]


def cases():
    """One base, with a game between the texts."""
    unused = dict.fromkeys(values.TEXT_LANGUAGES, EMPTY_PAGE)
    records = [
        Text({"en": "Version one"}, {"en": "Plain text,\rin an 8-bit page: café."}, version=1),
        Text({"en": "Version two"}, {"en": "Plain text with longer lengths."}, version=2),
        Text(
            {"en": "Openings", "de": "Eröffnungen"},
            unused | {"en": page("About openings."), "de": page("Über Eröffnungen.")},
            tournament=Tournament("A report", "Berlin", "2001"),
            annotator=Annotator("A Writer"),
            source=Source("A magazine"),
            round=3,
        ),
        Game(Player("Between"), Player("Texts"), "e2e4 e7e5"),
        Text({}, {"en": page("No title.")}),
        Text({"en": "Deleted"}, {"en": page("Gone.")}, deleted=True),
        Text({"any": "Nothing inside"}, unused),
    ]
    pictures = {"texts.html/Board 1.png": png(0), "texts.html/other.png": png(255)}
    return [Case(Base("texts", records + linked()), beside=pictures)]
