"""Guiding texts of all three versions."""

from encoder import values
from encoder.base import Base, Game, Text
from encoder.entities import Annotator, Player, Source, Tournament

from . import Case

EMPTY_PAGE = "<html><body></body></html>"


def page(words):
    """A small HTML page."""
    return f'<html><head><meta charset="utf-8"></head><body><p>{words}</p></body></html>'


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
    return [Case(Base("texts", records))]
