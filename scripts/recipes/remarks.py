"""Texts as people wrote them: line breaks, double blanks, control codes, diagrams, braces, several languages on one move."""

from encoder.base import Base, Game, text
from encoder.entities import Annotator, Player, Tournament

from . import Case

MOVES = "e2e4 e7e5 g1f3 (f1c4 b8c6 d2d3) b8c6 f1b5 (f1c4 g8f6) a7a6 b5a4 g8f6"
ANY, ENGLISH, GERMAN, RUSSIAN = 0, 42, 53, 121
SYMBOLS, SQUARES, AFTER, BEFORE = 0x03, 0x04, 0x02, 0x82
E4 = bytes([2, 36])


def raw(content, language=ANY, lead=0):
    """A payload of these bytes."""
    return bytes([lead, language]) + content


def game(title, page, *annotations):
    """A game between players whose names need the page."""
    names = {"cp1252": ("Müller", "Pétursson"), "cp1251": ("Чигорин", "Смыслов")}[page]
    annotator, place = {"cp1252": ("Jürgen", "Malmö"), "cp1251": ("Алексей", "Москва")}[page]
    white, black = (Player(name, "A") for name in names)
    return Game(
        white, black, MOVES, annotations=annotations, annotator=Annotator(annotator), tournament=Tournament(title, place)
    )


WESTERN = {
    "lines": "Die Eröffnung.\r\n\r\nWeiß  spielt\tauf Angriff,\r\nSchwarz nicht. ",
    "braces": " {siehe  oben} und {dort}",
    "english": "The  opening.\r\n{see above}  A \x04 diagram\r\nand one\x04more ",
    "german": "Zug\x01 für  Zug\r\n\x9e\r\n\r\nDiagramm\x9eauch hier",
    "signs": "\xa4f3  \xb2, \xa2g1 \x85 \xa5b5\r\nist  \xbb ",
    "variation": "  Oder\r\nso\xa0weiter ",
}
CYRILLIC = {
    "lines": "Дебют.\r\n\r\nБелые  играют\tна атаку,\r\nчерные нет. ",
    "braces": " {см.  выше} и {там}",
    "english": "The  opening.\r\n{see above}  A \x04 diagram\r\nand one\x04more ",
    "german": "Ход\x01 за  ходом\r\n\x04\r\n\r\nДиаграмма\x04тоже",
    "signs": "Кфз  сильно,\r\nферзь  стоит ",
    "variation": "  Или\r\nтак\xa0далее ",
}
UTF8 = "Начало  \ue024g1\r\n{там}  \ue005\r\nKraków\ue005\u2192  konec "


def games(page, words):
    """Whole games with many remarks, and orders that are not the usual one."""
    texts = {name: raw(part.encode("latin-1" if page == "cp1252" else page)) for name, part in words.items()}

    def of(name, language):
        return raw(texts[name][2:], language)

    yield game(
        "Languages",
        page,
        (-1, AFTER, texts["lines"]),
        (0, AFTER, of("braces", RUSSIAN)),
        (0, AFTER, of("english", ENGLISH)),
        (0, SQUARES, E4),
        (0, AFTER, of("german", GERMAN)),
        (1, AFTER, texts["signs"]),
        (1, SYMBOLS, bytes([1])),
        (5, BEFORE, texts["variation"]),
        (10, BEFORE, of("variation", GERMAN)),
        (12, AFTER, of("lines", ENGLISH)),
        (12, BEFORE, of("braces", GERMAN)),
    )
    yield game(
        "Unicode",
        page,
        (2, AFTER, text(UTF8, page="utf-8")),
        (2, AFTER, of("signs", GERMAN)),
        (2, AFTER, text("Ein  Bild\r\n\ue005", ENGLISH, page="utf-8")),
        (3, AFTER, raw(texts["lines"][2:], RUSSIAN, lead=64)),
        (4, 0x7F, bytes(5)),
        (4, AFTER, texts["german"]),
        (4, BEFORE, texts["english"]),
    )
    long = ("x" * 150 + "{" + "y" * 200).encode()
    yield game("Long words", page, (0, AFTER, raw(b"See  " + long + b"\r\nhere ")), (7, AFTER, texts["lines"]))


def cases():
    """The same in two code pages."""
    return [
        Case(Base("remarks-1252", list(games("cp1252", WESTERN)))),
        Case(Base("remarks-1251", list(games("cp1251", CYRILLIC)), page="cp1251")),
    ]
