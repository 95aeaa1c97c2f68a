"""Games that do not start from the usual position: set-ups and Chess960."""

from dataclasses import replace

from encoder.base import Base, Game
from encoder.entities import Player, Tournament
from encoder.moves import Chess960, Oddities

from . import Case

EP_FILE_BYTE, CASTLING_BYTE, NUMBER_BYTE = 1, 2, 3
BLACK_TO_MOVE = 0x10
WHITE_LONG, WHITE_SHORT, BLACK_LONG, BLACK_SHORT = 1, 2, 4, 8


def cases():
    """Both bases."""
    return [Case(Base("setups", list(setups()))), Case(Base("chess960", list(chess960_games())))]


def setups():
    """Set-up positions of ordinary chess."""

    def game(title, fen, moves="", *changed_bytes):
        return Game(Player("Set"), Player("Up"), moves, tournament=Tournament(title), fen=fen, oddities=Oddities(setup_bytes=changed_bytes))

    yield game("Black takes en passant", "4k3/8/8/8/3Pp3/8/8/4K3 b - d3 0 20", "e4d3 e1f1")
    no_pawn = "4k3/8/8/8/3P4/8/8/4K3 b - - 0 20"
    yield game("No pawn takes en passant", no_pawn, "e8e7", (EP_FILE_BYTE, BLACK_TO_MOVE | 4))
    no_rights = "4k3/8/8/8/8/8/8/R3K3 w - - 0 1"
    yield game("Rights without their rooks", no_rights, "e1e2 e8d8", (CASTLING_BYTE, WHITE_SHORT | BLACK_LONG | BLACK_SHORT))
    yield game("Castling without the right", "4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1 e8d8 f1f7", (CASTLING_BYTE, 0))
    four_queens = "5bk1/5ppp/8/Q7/1Q6/2Q5/3Q4/K7 w - - 0 1"
    yield game("A fourth queen never gets a number", four_queens, "d2d1 f8b4 a5b4 h7h6 d1d8 g8h7 d8d1")
    yield game("No kings and no moves", "8/8/3p4/8/8/4P3/8/8 w - - 0 1")
    yield game("From move 63", "5k2/8/8/8/8/8/4P3/4K3 w - - 0 63", "e2e4 f8e7")
    yield game("Move number 0 is 1", "5k2/8/8/8/8/8/4P3/4K3 b - - 0 1", "f8e7 e2e4", (NUMBER_BYTE, 0))


def chess960_games():
    """Chess960, with kings and rooks in eight bytes and in four, both counting orders of the pieces."""
    bnrkrbnq = replace(
        chess960(370, "bnrkrbnq", "BNRKRBNQ", "d1 d8", "e1 c1", "e8 c8"),
        moves="e2e4 e7e5 g1f3 g8f6 f1c4 f8c5 d1e1 d8c8 d2d3 d7d6",
    )
    nrkbqnbr = replace(
        chess960(253, "nrkbqnbr", "NRKBQNBR", "c1 c8", "h1 b1", "h8 b8"),
        moves="e2e4 e7e5 d1g4 d8g5 c1b1 f8e6 f1g3 e8e7 h2h3 h7h6 a2a3 g8h7 b2b3 c8h8 g3e2 a7a6",
    )
    usual = replace(
        chess960(518, "rnbqkbnr", "RNBQKBNR", "e1 e8", "h1 a1", "h8 a8"),
        moves="e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 e1h1 (b1c3) d7d6 c2c3 c8g4 d2d4 d8e7 a2a4 e8a8",
    )
    for game in (bnrkrbnq, nrkbqnbr, usual):
        yield replace(game, tournament=Tournament("Eight bytes"))
        yield replace(game, tournament=Tournament("Eight bytes, reverse order"), mode=11)
    for game in (bnrkrbnq, nrkbqnbr):
        four = replace(game, chess960=replace(game.chess960, short=True))
        yield replace(four, tournament=Tournament("Four bytes"))
        yield replace(four, tournament=Tournament("Four bytes, reverse order"), mode=11)
    yield replace(
        bnrkrbnq,
        tournament=Tournament("A wrong start number"),
        chess960=replace(bnrkrbnq.chess960, number=785),
    )
    yield with_rights("One right each", WHITE_LONG | BLACK_SHORT, "1r2k1r1/pppppppp/8/8/8/8/PPPPPPPP/1R2K1R1 w Bg - 0 1",
                      Chess960(0, "e1 e8", "g1 b1", "g8 b8"), "e1b1 e8g8 d2d3 d7d6")
    yield with_rights("Not the outermost rook", WHITE_SHORT | BLACK_LONG, "rr2k1r1/pppppppp/8/8/8/8/PPPPPPPP/R3K1RR w Gb - 0 12",
                      Chess960(0, "e1 e8", "g1 a1", "g8 b8"), "e1g1 e8b8 d2d3 d7d6")


def chess960(number, black, white, kings, white_rooks, black_rooks):
    """A game from the start position of this number, without moves."""
    fen = f"{black}/pppppppp/8/8/8/8/PPPPPPPP/{white} w KQkq - 0 1"
    block = Chess960(number, kings, white_rooks, black_rooks)
    return Game(Player("Fischer"), Player("Random"), mode=10, fen=fen, chess960=block)


def with_rights(title, rights, fen, block, moves):
    """A game in which not every castling is allowed."""
    return Game(Player("Fischer"), Player("Random"), moves, tournament=Tournament(title), mode=10, fen=fen, chess960=block,
                oddities=Oddities(setup_bytes=((CASTLING_BYTE, rights),)))
