"""Names that are the same, become the same as file names, or cannot be file names as they are."""

from dataclasses import replace

from encoder.base import Base, Game, Text
from encoder.entities import Annotator, Player, Source, Team, Tournament

from . import Case

LEE, LI = Player("Lee"), Player("Li")
# What follows the zero byte is not seen; it makes records of their own.
SECOND_LEE, SECOND_KIM = Player(b"Lee\0second"), Player(b"Kim\0second")
SPRING, AUTUMN = Tournament("Open", "Paris", "2001.04.01"), Tournament("Open", "Paris", "2001.10.01")
ENGLISH, DUTCH = Team("Club", nation="ENG"), Team("Club", nation="NED")
ANNA, PAPER = Annotator("Anna"), Source("Paper")
PLAIN = Game(LEE, LI, "e2e4 e7e5 g1f3 b8c6 f1b5", "1-0", SPRING, ANNA, PAPER, "2001.04.02", eco="B90/08")


def cases():
    """One base."""
    return [Case(Base("namesakes", list(records()), page="utf-8"))]


def records():
    """Games that differ in who plays where; one deleted, one record a text."""
    yield replace(PLAIN, teams=(ENGLISH, DUTCH))
    yield replace(PLAIN, white=SECOND_LEE, black=LEE, tournament=AUTUMN, date="2001.10.??", eco="B91")
    yield replace(PLAIN, white=Player("Lee ~0"), black=LEE, date="1999.??.??", eco="", teams=(ENGLISH, ENGLISH))
    yield replace(PLAIN, white=Player(), black=Player(b"\0second"), tournament=Tournament(), date="", eco="A00")
    yield replace(PLAIN, white=Player("A/B"), black=Player(".hidden"), annotator=Annotator(".."), eco="E99")
    bells = {"white": Player("Bell"), "black": Player(b"Bell\0second")}
    yield replace(PLAIN, **bells, annotator=Annotator(), source=Source())
    yield replace(PLAIN, white=Player("José"), black=Player("Jose\u0301"), date="????.05.17")
    yield replace(PLAIN, white=Player("Kim"), black=Player("Gone"), tournament=Tournament("Gone"), deleted=True)
    yield replace(PLAIN, white=SECOND_KIM, black=LEE, teams=(None, DUTCH))
    yield replace(PLAIN, white=LEE, black=LEE, date="0476.09.04")
    yield Text({"en": "A text"}, {"en": "<p>In a tournament of its own.</p>"}, tournament=Tournament("Texts only"))
