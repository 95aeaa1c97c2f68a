"""Annotations of every kind, each in a game of its own, with the words that its PGN must show."""

import struct

from encoder.base import Base, Game, text
from encoder.entities import Player

from . import Case

MOVES = "e2e4 e7e5 g1f3 (f1c4 b8c6) b8c6"
LAST_PLY = 5  # in the order of the stream: main line 0-3, then the variation
ANY, ENGLISH, GERMAN, SWEDISH = 0, 42, 53, 134


def annotated(name, *annotations, shows=(), medals=0, medals_tag="", defect=None):
    """A game named after what it shows; `shows` are parts of its text, line breaks as blanks."""
    expected = {"shows": list(shows), "tags": {"CbhMedals": medals_tag}}
    return Game(
        Player(name),
        Player("Annotations"),
        MOVES,
        annotations=annotations,
        medals=medals,
        defect=defect,
        expected=expected,
    )


def square(name):
    """A square counted from 1, file by file."""
    return "abcdefgh".index(name[0]) * 8 + int(name[1])


def group(*texts):
    """A text group of a training question: number, then language, length and bytes of each; little-endian."""
    encoded = [(language, words.encode("cp1252")) for language, words in texts]
    return struct.pack("<H", len(texts)) + b"".join(struct.pack("<2H", number, len(raw)) + raw for number, raw in encoded)


def training():
    """1, variant 1, size, seconds, 0, points; question, wrong, two hints; one answer d1-d5."""
    rest = struct.pack("<3H", 180, 0, 10) + group((0, "Win?"), (1, "Gewinn?")) + group() + group((0, "Look")) + group()
    rest += bytes([1, square("d1") - 1, square("d5") - 1, 0, 10]) + group((0, "Right"))
    return struct.pack("<HBH", 1, 1, len(rest) + 2) + rest


def quotation(moves=b"\xb5\xaf"):
    """Header only: names, ratings, opening, event, site, date and so on, big-endian; then an enciphered null move."""

    def pascal(words):
        return bytes([len(words)]) + words.encode("cp1252") + b"\0"

    body = struct.pack(">2H", 1, 0) + pascal("Tal,Mihail") + pascal("Petrosian,T") + struct.pack(">3H", 2700, 0, 290 << 7)
    body += pascal("Candidates") + pascal("Bled") + struct.pack(">I4H", 1959 << 9 | 9 << 5 | 7, 3, 149, 0, 28)
    body += bytes([0, 2, 2]) + struct.pack(">H", 13) + moves
    return struct.pack(">H", len(body) + 2) + body


def stage(seconds, increment, moves, kind):
    """One stage of a time control, in hundredths of seconds."""
    return struct.pack(">2IHB", seconds * 100, increment * 100, moves, kind)


def texts():
    """Texts before and after, in languages, in odd places, with signs and with characters PGN has no room for."""
    yield annotated("After", (0, 0x02, text("Best by test")), shows=["1. e4 {Best by test} 1... e5"])
    yield annotated("Before", (3, 0x82, text("Now")), shows=['[CbhBefore "2...Nc6"]', "2. Nf3 (2. Bc4 Nc6) {Now} 2... Nc6"])
    yield annotated("Opening", (4, 0x82, text("Or")), shows=["({Or} 2. Bc4 Nc6)"])
    yield annotated(
        "Languages",
        (0, 0x02, text("first")),
        (0, 0x02, text("second", ENGLISH)),
        (0, 0x02, text("dritter", GERMAN)),
        (0, 0x02, text("fjärde", SWEDISH)),
        shows=["1. e4 {first} {[%cblang en] second} {[%cblang de] dritter} {[%cblang cb134] fjärde} 1... e5"],
    )
    yield annotated("Game", (-1, 0x02, text("The whole game")), shows=["{The whole game} 1. e4"])
    yield annotated("Past", (40, 0x02, text("Lost")), shows=["{[%cbpos 40] Lost} {[%cbdefect"], defect="cba")
    yield annotated("Signs", (0, 0x02, b"\0\0\xa4f3 \xb2 M\xfcller \x9e"), shows=["{♘f3 ⩲ Müller [#]}"])
    yield annotated("Unicode", (0, 0x02, text("♔ Łódź", page="utf-8")), shows=["{♔ Łódź}"])
    yield annotated("Private", (0, 0x02, text("\ue024\ue02f", page="utf-8")), shows=["{♔⩲}"])
    yield annotated("Braces", (0, 0x02, text("{a} [%csl Ge4] [%clk 0:05:00]")), shows=["{(a) [ %csl Ge4] [%clk 0:05:00]}"])
    yield annotated("Blanks", (0, 0x02, text("  two  blanks\r\nand a line ")), shows=["{two blanks and a line}"])
    yield annotated("Lead", (0, 0x02, b"\x40\0words"), shows=['[CbhLead "64"]', "{words}"])
    yield annotated("Empty", (0, 0x02, b"\0\x2a"), shows=["{[%cblang en]}"])
    yield annotated("Long word", (0, 0x02, text("x" * 450)), shows=["x" * 200 + " " + "x" * 200 + " " + "x" * 50])
    yield annotated("After a NUL", (0, 0x02, b"\0\0shown\0lost"), shows=["{shown}"])


def marks():
    """Symbols, squares, arrows, colours."""
    yield annotated("Symbols", (0, 0x03, bytes([1, 14, 142])), shows=["1. e4 $1 $14 $142 e5"])
    yield annotated("Second slot", (0, 0x03, bytes([0, 13])), shows=["1. e4 $13 e5"])
    yield annotated("Other slot", (0, 0x03, bytes([32])), shows=["1. e4 $32 {[%cbsym 32,0,0]} 1... e5"])
    yield annotated("Squares", (0, 0x04, bytes([2, square("e4"), 4, square("h8")])), shows=["{[%csl Ge4,Rh8]}"])
    arrow = bytes([3, square("a1"), square("b8")])
    yield annotated("Arrows", (0, 0x05, arrow), shows=["{[%cal Ya1b8]}"])
    odd = bytes([2, square("e4"), 7, square("e5")])
    yield annotated("Odd colours", (0, 0x04, odd), shows=["{[%csl Ge4] [%cbcsl 2e4,7e5]}"])
    yield annotated("No square", (0, 0x04, bytes([2, 99])), shows=["{[%cba 04 AmM]}"])
    yield annotated("Many arrows", (0, 0x05, arrow * 40), shows=["[%cal Ya1b8,", "] [%cal Ya1b8,"])
    yield annotated("Critical", (0, 0x18, b"\3"), shows=["{[%cbcrit endgame]}"])
    yield annotated("Colour", (4, 0x23, bytes([1, 255, 0, 16])), shows=["(2. Bc4 {[%cbcol 1000ff,1]} 2... Nc6)"])
    yield annotated("Structure", (0, 0x14, b"\3"), shows=["{[%cb14 3]}"])
    yield annotated("Path", (0, 0x15, bytes([3, square("h8")])), shows=["{[%cb15 3,h8]}"])
    yield annotated("Medals", (0, 0x22, bytes([0, 0, 0, 5])), shows=["{[%mdl 5]}"], medals=5)
    yield annotated("Header medals", (0, 0x22, bytes([0, 0, 0, 4])), shows=["{[%mdl 4]}"], medals=5, medals_tag="1")


def times():
    """Clocks, time spent, evaluations."""
    yield annotated("Spent", (0, 0x07, bytes([0, 1, 5, 0])), shows=["{[%emt 0:01:05]}"])
    yield annotated("Spent more", (0, 0x07, bytes([0, 0, 4, 30])), shows=["{[%emt 0:00:04] [%cbemt 0,0,4,30]}"])
    clocks = (-1, 0x16, struct.pack(">i", 543100)), (-1, 0x17, struct.pack(">i", 1250))
    yield annotated("Clocks", *clocks, shows=['[WhiteClock "1:30:31"] [BlackClock "0:00:12.50"]'])
    control = stage(7200, 30, 40, 1) + stage(3600, 30, 20, 1) + stage(900, 30, 1000, 3)
    yield annotated("Control", (-1, 0x24, control), shows=['[TimeControl "40/7200+30:20/3600+30:900+30"]'])
    filler = stage(300, 0, 1000, 0) + stage(0, 0, 1000, 5) + bytes(11)
    yield annotated("Filler", (-1, 0x24, filler), shows=["{[%cbtc 30000,0,1000,0;0,0,1000,5;0,0,0,0]} 1. e4"])
    yield annotated("Evaluation", (0, 0x21, struct.pack("<3h", -25, 0, 18)), shows=["{[%eval -0.25,18]}"])
    yield annotated("Mate", (0, 0x21, struct.pack("<3h", -3, 1, 20)), shows=["{[%eval #-3,20]}"])
    yield annotated("Odd evaluation", (0, 0x21, struct.pack("<3h", 7, 3, 9)), shows=["{[%cbeval 7,3,9]}"])
    points = [(0, 1, 0), (0, 12, 35), (1, 12, 7), (255, 0, 0), (0, 12, -310)]
    profile = struct.pack(">H", 5) + b"".join(struct.pack(">2Bh", *point) for point in points)
    yield annotated("Profile", (-1, 0x26, profile), shows=["[%evp 0,4,0,35,29993,32767,-310] [%cbevp 0:1:0,0:12:35,"])
    yield annotated("Stream", (1, 0x25, struct.pack(">i", 62182)), shows=["1. e4 e5 {[%cb25 62182]}"])


def others():
    """Questions, quotations, links, media, and what is not known."""
    yield annotated("Question", (0, 0x09, training()), shows=['[%tqu "En","Win?","Look","","d1d5","Right",10]', '[CbhExact1 "09~'])
    yield annotated("Other variant", (0, 0x09, b"\1\0\2\0\0"), shows=["{[%cba 09 AQACAAA]}"])
    game = "[%cbgame 1-0 Tal,Mihail (2700)-Petrosian,T Candidates Bled 1959 (2)]"
    yield annotated("Quotation", (0, 0x13, quotation()), shows=[game, "[%cba 13 ~"])
    link = bytes([19]) + b"https://example.org" + bytes([6]) + b"A link"
    yield annotated("Link", (0, 0x1C, struct.pack("<H", len(link) + 2) + link), shows=['[%cblink "https://example.org","A%20link"]'])
    yield annotated("Video", (0, 0x20, b"\1\0Part 1"), shows=['[%cbvideo 0,"Part%201"]'])
    yield annotated("Sound", (0, 0x10, b"12"), shows=["{[%cba 10 MTI]}"])
    yield annotated("Picture", (0, 0x11, b"3"), shows=["{[%cba 11 Mw]}"])
    yield annotated("Correspondence", (-1, 0x61, bytes(range(9))), (0, 0x19, b"\1\2"), shows=["{[%cba 61 AAECAwQFBgcI]} 1. e4"])
    yield annotated("Unknown", (LAST_PLY, 0x7F, bytes(100)), shows=["2. Bc4 Nc6 {[%cba 7f AAAAAAAA"])


def cases():
    """One base with all of them."""
    games = [game for cases in (texts, marks, times, others) for game in cases()]
    return [Case(Base("annotations", games))]
