"""Opening books: one of many small pages, one of a single page."""

from dataclasses import dataclass

from encoder.ctg import Book, Game

RUY = "e2e4 e7e5 g1f3 b8c6 f1b5"
CLOSED = f"{RUY} a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 e8g8"
BERLIN = f"{RUY} g8f6 e1g1 f6e4 d2d4 e4d6 b5c6 d7c6 d4e5 d6f5 d1d8 e8d8"
NAJDORF = "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6 c1g5 e7e6 f2f4 d8b6 d1d2 b6b2"
LONG_CASTLING = "d2d4 d7d5 c2c4 e7e6 b1c3 g8f6 c1g5 f8e7 d1c2 e8g8 e1c1"
TRANSPOSED = "c2c4 e7e6 d2d4 g8f6 b1c3 d7d5 c1g5"
EN_PASSANT = "e2e4 e7e6 e4e5 d7d5 e5d6 c7d6"
BLACK_EN_PASSANT = "g1f3 d7d5 h2h3 d5d4 e2e4 d4e3"
# The black king walks, so that the board is mirrored, and takes in passing.
MIRRORED = "e2e4 d7d5 e4d5 e8d7 g1f3 d7d6 e1e2 d6c5 f3g1 c5d5 g1f3 d5d6 f3g1 a7a5 b2b4 a5b4 a2a4 b4a3"
QUEENS = "a2a4 b7b5 a4b5 a7a6 b5a6 c8b7 a6b7 d8c8 b7a8q c8b7 a8b8 b7c8 b8c7 c8c7 a1a7 c7a7"
REPEATED = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 b1c3"
ENDING = "4k3/8/8/8/8/8/1P6/2K5 w - - 0 1"
ENDING_MIRRORED = "3k4/8/8/8/8/8/6P1/5K2 w - - 0 1"


@dataclass(frozen=True)
class Case:
    """A book and where it lies."""

    book: Book

    def files(self):
        """Every file by its name."""
        named = {f"{self.book.name}.{extension}": content for extension, content in self.book.files().items()}
        named[f"{self.book.name}.vectors.tsv"] = self.book.expectations()
        return named


def small():
    """Everything a record can say, on pages so small that their tree is deep."""
    book = Book("small", page_bytes=520)
    for game in (
        Game(CLOSED, "1-0", (2700, 2600)),
        Game(CLOSED, "1/2-1/2", (2650, 2710)),
        Game(BERLIN, "1/2-1/2", (2750, 2760)),
        Game(NAJDORF, "0-1", (2500, 2480)),
        Game(NAJDORF, "1-0", (2400, 0)),
        Game(LONG_CASTLING, "1-0", (2300, 2310)),
        Game(TRANSPOSED, "0-1"),
        Game(EN_PASSANT, "0-1", (2000, 2100)),
        Game(BLACK_EN_PASSANT, "1/2-1/2"),
        Game(MIRRORED, "1-0"),
        Game(QUEENS, "1-0", (0, 1500)),
        Game(REPEATED),
        # No moves from the start lead to these, and they are one position.
        Game("b2b4 e8e7", "1-0", (2200, 2100), ENDING),
        Game("g2g4 d8d7", "0-1", (2200, 2100), ENDING_MIRRORED),
    ):
        book.add(game)
    book.mark("", e2e4=1, c2c4=5, a2a4=2)
    book.mark("e2e4", flags=0x84, weight=99, comment=0x0F, e7e5=8)
    book.mark("e2e4 c7c5", flags=0x24, weight=-93, comment=0x0E)
    book.mark("e2e4 e7e6", flags=0x80, weight=125)
    book.mark("d2d4", flags=0xC0, weight=-125, comment=0x0B)
    book.mark("g1f3", flags=0x40, comment=0x92, g8f6=0xE0)
    book.mark("e2e4 e7e5", comment=0x84)
    book.mark("c2c4", comment=0x12)
    return book


def onepage():
    """A book as small as they come: its page tree has no branch."""
    book = Book("onepage")
    book.add(Game("e2e4 e7e5", "1-0", (2000, 1900)))
    book.add(Game("d2d4"))
    return book


def cases():
    """All books."""
    return [Case(small()), Case(onepage())]
