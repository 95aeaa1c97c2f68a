"""Every header field with its odd values; old files that lack half of them; names in three code pages."""

from dataclasses import replace

from encoder import values
from encoder.base import SWEDISH, Base, Game
from encoder.entities import Annotator, Player, Source, Tag, Team, Tournament

from . import Case

SINGLE, MATCH, ROUND_ROBIN, SWISS, TEAM, KNOCKOUT, SIMUL, SCHEVENINGEN = range(1, 9)
SICILIAN, OPEN = "e2e4 c7c5 g1f3 d7d6", "e2e4 e7e5 g1f3 b8c6 f1b5"
PLAIN = Game(Player("White"), Player("Black"), OPEN)


def cases():
    """All bases about headers."""
    return [
        Case(Base("headers", [*results(), *openings(), *rounds(), *dates(), *people(), *tournaments(), *teams(), *sources()])),
        Case(Base("oldheaders", old_games(), page="cp1252", old=True)),
        Case(Base("names-utf8", games_of("utf-8"), page="utf-8")),
        Case(Base("names-1251", games_of("cp1251"), page="cp1251")),
        Case(Base("names-1252", games_of("cp1252"), page="cp1252")),
    ]


def titled(title, **changes):
    """A plain game in a tournament of its own."""
    return replace(PLAIN, tournament=Tournament(title), **changes)


def results():
    """All results, line evaluations, medals, a deleted game."""
    for result in values.RESULTS:
        yield titled(f"Result {result}", result=result)
    yield titled("Line with an evaluation", line_evaluation=16)
    yield titled("Evaluation beside a result", result="1-0", line_evaluation=16, expected={"tags": {"CbhLineEval": ""}})
    yield titled("All medals", medals=0xFFFF)
    yield titled("Deleted", deleted=True)


def openings():
    """Opening codes with and without sub-code, the last one, and numbers that are none."""
    for code in ("A00", "B90/08", "E99/99"):
        yield titled(f"Opening {code}", eco=code)
    yield titled("No such opening", raw_eco=502 << 7)
    yield titled("Chess960 number, but ordinary chess", raw_eco=values.CHESS960_ECO + 5)


def rounds():
    """Round and subround, both, one, none."""
    for round_, subround in ((5, 0), (5, 2), (0, 2), (255, 255)):
        yield titled(f"Round {round_}, {subround}", round=round_, subround=subround)


def dates():
    """Dates that lack parts, and the latest one."""
    for date in ("", "1998.??.??", "1998.05.??", "1998.??.17", "????.05.17", "4095.12.31"):
        yield titled(f"Date {date or 'none'}", date=date)


def people():
    """Names that are empty, full, twice the same or followed by garbage; ratings."""
    full = Player("Abcdefghijklmnopqrstuvwxyzabcd", "Abcdefghijklmnopqrst")
    yield replace(PLAIN, white=full, black=Player("", "Anna"))
    yield replace(PLAIN, white=Player(), black=Player())
    yield replace(PLAIN, white=Player("Solo", "Han"), black=Player("Solo", "Han"))
    yield replace(PLAIN, white=Player(b"Short\0nger name was here", b"A\0lexander"), annotator=Annotator(b"Annie\0tator"))
    yield replace(PLAIN, annotator=Annotator("An annotator of forty-five letters, no more ."))
    yield replace(PLAIN, elo=(2851, 1), rating_types=(SWEDISH, bytes(16)))
    yield replace(PLAIN, white=Player('Quote "Q" and \\'), black=Player("Slash/Dot", ".hidden"))


def tournaments():
    """All kinds and time controls, places, nations, dates, categories."""
    for kind in range(SINGLE, SCHEVENINGEN + 1):
        name = values.EVENT_KINDS[kind]
        yield replace(PLAIN, tournament=Tournament(f"A {name}", kind=kind, team_event=kind == TEAM))
    for speed in (values.BLITZ, values.RAPID, values.CORRESPONDENCE):
        yield replace(PLAIN, tournament=Tournament(f"Swiss {speed}", kind=SWISS | speed))
    complete = Tournament("Complete", "Linares", "1999.02.20", ROUND_ROBIN, False, "ESP", 20, 7, 14, end="1999.03.10")
    yield replace(PLAIN, tournament=complete, date="1999.02.21", round=1)
    yield replace(PLAIN, tournament=Tournament(place="A place without a title", start="2001.??.??"))
    full = Tournament("A title of forty letters, and never NUL", "A place of thirty letters, all")
    yield replace(PLAIN, tournament=full)
    same_title = Tournament("Complete", "Linares", "2000.03.01", ROUND_ROBIN, nation="ESP")
    yield replace(PLAIN, tournament=same_title)


def teams():
    """Teams that differ in one field only, a full title, tags in six languages."""
    plain = Team("Chess Club", nation="ENG")
    yield replace(PLAIN, teams=(plain, replace(plain, number=2)), tag=Tag(("Team", "Mannschaft", "Équipe", "Equipo", "Squadra", "Ploeg")))
    yield replace(PLAIN, teams=(replace(plain, year=2015, is_season=True), replace(plain, year=2015)))
    yield replace(PLAIN, teams=(replace(plain, nation="NED"), None), tag=Tag(("Only English",)))
    yield replace(PLAIN, teams=(None, Team("A team of forty-five letters, and no NUL byte")), tag=Tag(("", "Nur Deutsch")))
    yield replace(PLAIN, teams=(plain, plain), tag=Tag())


def sources():
    """All fields of a source, each quality."""
    yield replace(PLAIN, source=Source("All fields", "A publisher", "2003.04.05", "2003.05.??", 7, 1))
    for quality in (2, 3):
        yield replace(PLAIN, source=Source(f"Quality {quality}", quality=quality))
    yield replace(PLAIN, source=Source("Twenty-five letters, full", "Sixteen letters."))


def old_games():
    """Ordinary games for a base that has only the files and headers of old programs."""
    london = Tournament("London", "London", "1851.05.26", KNOCKOUT, nation="ENG")
    names = ("Müller", "Lékó", "Larsen", "Miles", "Ängström", "Lee")
    return [
        Game(Player(white, "A"), Player(black, "B"), SICILIAN, "1-0", london, date="1851.05.27", round=number, eco="B50")
        for number, (white, black) in enumerate(zip(names, reversed(names), strict=True), 1)
    ]


NAMES = {
    "utf-8": [("Čapek", "Karel"), ("Müller", "Jürgen"), ("Ботвинник", "Михаил"), ("Łukasz", "Żółw")],
    "cp1251": [("Ботвинник", "Михаил"), ("Смыслов", "Василий"), ("Петросян", "Тигран"), ("Чигорин", "Михаил")],
    "cp1252": [("Müller", "Jürgen"), ("Réti", "Richard"), ("Brännström", "Åke"), ("Peña", "José")],
}
PLACES = {"utf-8": "Kraków", "cp1251": "Москва", "cp1252": "Malmö"}


def games_of(page):
    """A round of games whose names need a code page."""
    players = [Player(last, first) for last, first in NAMES[page]]
    tournament = Tournament(PLACES[page], PLACES[page], "1948.03.02", ROUND_ROBIN)
    pairs = zip(players, [*players[1:], players[0]], strict=True)
    return [
        Game(white, black, SICILIAN, "1/2-1/2", tournament, date="1948.03.02", round=number, eco="B50")
        for number, (white, black) in enumerate(pairs, 1)
    ]
