"""Bases in the newer format, 2CBH: records of other recipes, and what the older format has no place for."""

from dataclasses import replace

from encoder.base import Game
from encoder.entities import Player, Tournament
from encoder.newer import NewerBase, can_be_converted

from . import Case, annotations, sample, starts

BOARD, FIDE_ID = 7, 1503014


def cases():
    """The sample base once more, and one of everything else."""
    (twin,) = sample.cases()
    yield Case(NewerBase("sample", twin.base.records, version=5))
    records = [*olympiad(), *remarks(), *positions()]
    newer = NewerBase("mixed", records, version=3, header_bytes=216, boards={1: BOARD}, fide={"Olympian": FIDE_ID})
    yield Case(newer)


def olympiad():
    """A game with a board and a player with an id."""
    yield Game(
        Player("Olympian", "Żaneta"),
        Player("Виктор"),
        "e2e4 e7e5 0000 e8e7",
        "+:-",
        Tournament("Olympiad", "Αθήνα", "2026.09.10", 4, team_event=True, nation="POL", rounds=11),
        round=300,
        subround=2,
        expected={"headers": {"Round": 0, "Sub": 0}, "tags": {"Round": "300.2.7", "WhiteFideId": str(FIDE_ID)}},
    )
    yield Game(Player("Deleted"), Player("Game"), "d2d4", deleted=True)


def remarks():
    """Games with annotations of every kind whose layout is known in both formats."""
    (case,) = annotations.cases()
    # A square beyond the board is damage here.
    games = (game for game in case.base.records if game.white.last != "No square")
    yield from filter(can_be_converted, games)


def positions():
    """Set-ups and Chess960."""
    for game in (game for case in starts.cases() for game in case.base.records):
        # Start 253 stands for "none", and the usual start is no Chess960 here; which rook castles cannot be told.
        title = game.tournament.title
        is_told = not game.chess960 or game.chess960.number in (0, 370) and "Not the outermost" not in title
        if can_be_converted(game) and is_told:
            yield replace(game, mode=0)
