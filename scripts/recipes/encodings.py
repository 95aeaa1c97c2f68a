"""The same games in every encoding of moves, and streams that hold more or less than they should."""

from dataclasses import replace

from encoder.base import Base, Game
from encoder.entities import Player, Tournament
from encoder.moves import Oddities

from . import Case

STANDARD_MODES = range(8)

# Variations three deep, siblings, en passant, both castlings, null moves, one of them while in check.
BRANCHES = Game(
    Player("Branch", "Anna"),
    Player("Twig", "Ben"),
    "d2d4 g8f6 d4d5 e7e5 d5e6 (b1c3 f8b4 (f8c5 e2e4 (e2e3 e8g8) (a2a3) d7d6) e2e4) (c1g5) f7e6 (d7e6)"
    " g1f3 f8e7 (f8b4 0000 b8c6) b1c3 e8g8 c1g5 0000 d1d2 b7b6 (a7a6 e1c1 b7b5) e1c1 c8b7 c1b1 h7h6",
    "1/2-1/2",
)
# Every promotion of both sides, a fourth and a fifth knight, captures that renumber what is left.
CROWD = Game(
    Player("Crowd", "Carla"),
    Player("Throng", "Dan"),
    "d7d8n b2b1q h1g2 a2a1n h7h8r c2c1b e7e8n e2e1r e8f6 b1h7 f7f8b a3b1 g7g8q d2d1n f6g4 d1e3 g4e3 h7d3"
    " f8c5 d3f1 e3f1 e1e7 f1d2 e7e1 d2c4 b1d2 c4e5 e1e3 e5g4 b3a5 g4e5 d2f1 e5d3 c1b2 d3e1 a1b3 e1f3 e3c3"
    " f4d6 f1d2 f3g1 b3c1 g1f3 d2e4",
    "1-0",
    fen="k7/3PPPPP/8/NN6/5Q2/nn6/ppppp3/7K w - - 0 1",
)
# A fourth queen, which has no number and gets none when the second is taken.
QUEENS = Game(
    Player("Regina", "Eve"),
    Player("Solus", "Finn"),
    "d2d1 f8b4 a5b4 h7h6 d1d8 g8h7 d8d1 h7g8 c3c6",
    fen="5bk1/5ppp/8/Q7/1Q6/2Q5/3Q4/K7 w - - 0 1",
)
# Four rooks and four bishops.
OFFICERS = Game(
    Player("Tower", "Gus"),
    Player("Runner", "Hope"),
    "d3d4 e8e7 c3c8 e7f6 d2f4 f6e6 c2e4 e6e7 b3b7 e7f6",
    fen="4k3/8/8/8/8/RRRR4/BBBB4/6K1 w - - 0 1",
)
SHORT = Game(Player("Short"), Player("Stream"), "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 e1g1 g8f6")

ODD_STREAMS = {
    "two-byte moves": (BRANCHES, Oddities(two_bytes=True)),
    "ignored operation": (SHORT, Oddities(ignore_before=6)),
    "no end marker": (SHORT, Oddities(instead_of_end=b"")),
    "bytes after the end": (SHORT, Oddities(trailing=b"\x12\x34\x56")),
}


def cases():
    """Each mode is a tournament; each odd stream is one too."""
    games = []
    for mode in STANDARD_MODES:
        tournament = Tournament(f"Mode {mode}")
        games += [replace(game, tournament=tournament, mode=mode) for game in (BRANCHES, CROWD, QUEENS, OFFICERS)]
    for name, (game, oddities) in ODD_STREAMS.items():
        # What follows the end may be moves whose mark of a variation is lost.
        defect = "cbg" if oddities.trailing else None
        games.append(replace(game, tournament=Tournament(name.capitalize()), oddities=oddities, defect=defect))
    odd = Tournament("Odd flags and sizes")
    games.append(replace(SHORT, tournament=odd, mode=5, blob_has_bit_7=True))
    games += [Game(SHORT.white, SHORT.black, tournament=odd, mode=mode) for mode in (0, 1)]  # no moves at all
    return [Case(Base("encodings", games))]
