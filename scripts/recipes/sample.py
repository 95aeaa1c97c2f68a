"""A base of famous games, for the README and for everything that wants ordinary input."""

from encoder.base import Base, Game, Text, text
from encoder.entities import Annotator, Player, Source, Tag, Team, Tournament

from . import Case

SYMBOL, TEXT, ARROWS = 0x03, 0x02, 0x05
ENGLISH = 42
OLD_MASTERS = Source("Old masters", "cbfs", published="2016.08.01", version_date="2016.08.01", version=1, quality=1)
BRILLIANCY = Tag(("Brilliancy", "Glanzpartie"))
MATCH, ROUND_ROBIN, SINGLE = 2, 3, 1

ANDERSSEN = Player("Anderssen", "Adolf")
MORPHY = Player("Morphy", "Paul")
RUBINSTEIN = Player("Rubinstein", "Akiba")
RETI = Player("Réti", "Richard")
MARSHALL = Player("Marshall", "Frank James")
NIMZOWITSCH = Player("Nimzowitsch", "Aron")

GAMES = [
    Game(
        Player("Légal", "Kermur de"),
        Player("Saint Brie"),
        "e2e4 e7e5 g1f3 d7d6 f1c4 c8g4 b1c3 g7g6 f3e5 g4d1 c4f7 e8e7 c3d5",
        "1-0",
        Tournament("Café de la Régence", "Paris", "1750", SINGLE, nation="FRA"),
        date="1750.??.??",
        eco="C41",
        tag=BRILLIANCY,
        source=OLD_MASTERS,
    ),
    Game(
        ANDERSSEN,
        Player("Kieseritzky", "Lionel"),
        "e2e4 e7e5 f2f4 e5f4 f1c4 d8h4 e1f1 b7b5 c4b5 g8f6 g1f3 h4h6 d2d3 f6h5 f3h4 h6g5 h4f5 c7c6 g2g4 h5f6 h1g1 c6b5"
        " h2h4 g5g6 h4h5 g6g5 d1f3 f6g8 c1f4 g5f6 b1c3 f8c5 c3d5 f6b2 f4d6 c5g1 e4e5 b2a1 f1e2 b8a6 f5g7 e8d8 f3f6 g8f6 d6e7",
        "1-0",
        Tournament("Casual game", "London", "1851.06.21", SINGLE, nation="ENG"),
        date="1851.06.21",
        eco="C33",
        medals=1 << 6 | 1,
        tag=BRILLIANCY,
        source=OLD_MASTERS,
    ),
    Game(
        ANDERSSEN,
        Player("Dufresne", "Jean"),
        "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 b2b4 c5b4 c2c3 b4a5 d2d4 e5d4 e1g1 d4d3 d1b3 d8f6 e4e5 f6g6 f1e1 g8e7 c1a3 b7b5"
        " b3b5 a8b8 b5a4 a5b6 b1d2 c8b7 d2e4 g6f5 c4d3 f5h5 e4f6 g7f6 e5f6 h8g8 a1d1 h5f3 e1e7 c6e7 (e8d8 e7d7 d8c8 d7d8"
        " c8d8 (c6d8 a4d7 c8d7 d3f5 d7e8 f5d7) d3f5) a4d7 e8d7 d3f5 d7e8 f5d7 e8f8 a3e7",
        "1-0",
        Tournament("Casual game", "Berlin", "1852", SINGLE, nation="GER"),
        date="1852.??.??",
        eco="C52",
        tag=BRILLIANCY,
        source=OLD_MASTERS,
    ),
    Game(
        MORPHY,
        Player("Duke Karl / Count Isouard"),
        "e2e4 e7e5 g1f3 d7d6 d2d4 c8g4 d4e5 g4f3 (d6e5 d1d8 e8d8 f3e5) d1f3 d6e5 f1c4 g8f6 f3b3 d8e7 b1c3 c7c6 c1g5 b7b5"
        " c3b5 c6b5 c4b5 b8d7 e1c1 a8d8 d1d7 d8d7 h1d1 e7e6 b5d7 f6d7 b3b8 d7b8 d1d8",
        "1-0",
        Tournament("Paris Opera", "Paris", "1858", SINGLE, nation="FRA"),
        Annotator("cbfs"),
        OLD_MASTERS,
        date="1858.??.??",
        eco="C41",
        annotations=(
            (-1, TEXT, text("Played in a box during a performance.", ENGLISH)),
            (12, SYMBOL, b"\x01"),
            (18, SYMBOL, b"\x01"),
            (24, TEXT, text("The other rook comes with tempo.", ENGLISH)),
            (30, SYMBOL, b"\x03"),
            (32, ARROWS, bytes([4, 25, 32])),  # red, d1 to d8
        ),
        tag=BRILLIANCY,
    ),
    Game(
        Player("Steinitz", "William"),
        Player("Von Bardeleben", "Curt"),
        "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 c2c3 g8f6 d2d4 e5d4 c3d4 c5b4 b1c3 d7d5 e4d5 f6d5 e1g1 c8e6 c1g5 b4e7 c4d5 e6d5"
        " c3d5 d8d5 g5e7 c6e7 f1e1 f7f6 d1e2 d5d7 a1c1 c7c6 d4d5 c6d5 f3d4 e8f7 d4e6 h8c8 e2g4 g7g6 e6g5 f7e8 e1e7 e8f8"
        " e7f7 f8g8 f7g7 g8h8 g7h7",
        "1-0",
        Tournament("Hastings", "Hastings", "1895.08.05", ROUND_ROBIN, nation="ENG", flags=3, rounds=21, end="1895.09.02"),
        date="1895.08.17",
        round=10,
        eco="C54",
        tag=BRILLIANCY,
    ),
    Game(
        Player("Rotlewi", "Georg"),
        RUBINSTEIN,
        "d2d4 d7d5 g1f3 e7e6 e2e3 c7c5 c2c4 b8c6 b1c3 g8f6 d4c5 f8c5 a2a3 a7a6 b2b4 c5d6 c1b2 e8g8 d1d2 d8e7 f1d3 d5c4"
        " d3c4 b7b5 c4d3 f8d8 d2e2 c8b7 e1g1 c6e5 f3e5 d6e5 f2f4 e5c7 e3e4 a8c8 e4e5 c7b6 g1h1 f6g4 d3e4 e7h4 g2g3 c8c3"
        " g3h4 d8d2 e2d2 b7e4 d2g2 c3h3",
        "0-1",
        Tournament("Lodz", "Lodz", "1907", ROUND_ROBIN, nation="POL"),
        date="1907.12.26",
        round=6,
        eco="D02",
    ),
    Game(
        RETI,
        Player("Tartakower", "Savielly"),
        "e2e4 c7c6 d2d4 d7d5 b1c3 d5e4 c3e4 g8f6 d1d3 e7e5 d4e5 d8a5 c1d2 a5e5 e1c1 f6e4 d3d8 e8d8 d2g5 d8c7 (d8e8 d1d8) g5d8",
        "1-0",
        Tournament("Casual game", "Vienna", "1910", SINGLE, nation="AUT"),
        Annotator("cbfs"),
        date="1910.??.??",
        eco="B15",
    ),
    Game(
        Player("Lasker", "Edward"),
        Player("Thomas", "George Alan"),
        "d2d4 e7e6 g1f3 f7f5 b1c3 g8f6 c1g5 f8e7 g5f6 e7f6 e2e4 f5e4 c3e4 b7b6 f3e5 e8g8 f1d3 c8b7 d1h5 d8e7 h5h7 g8h7"
        " e4f6 h7h6 e5g4 h6g5 h2h4 g5f4 g2g3 f4f3 d3e2 f3g2 h1h2 g2g1 e1d2",
        "1-0",
        Tournament("City of London Chess Club", "London", "1912.10.29", SINGLE, nation="ENG"),
        date="1912.10.29",
        eco="A83",
    ),
    Game(
        Player("Levitsky", "Stefan"),
        MARSHALL,
        "d2d4 e7e6 e2e4 d7d5 b1c3 c7c5 g1f3 b8c6 e4d5 e6d5 f1e2 g8f6 e1g1 f8e7 c1g5 e8g8 d4c5 c8e6 f3d4 e7c5 d4e6 f7e6"
        " e2g4 d8d6 g4h3 a8e8 d1d2 c5b4 g5f6 f8f6 a1d1 d6c5 d2e2 b4c3 b2c3 c5c3 d1d5 c6d4 e2h5 e8f8 d5e5 f6h6 h5g5 h6h3"
        " e5c5 c3g3",
        "0-1",
        Tournament("DSB Congress", "Breslau", "1912.07.15", ROUND_ROBIN, nation="GER", flags=3, rounds=17, end="1912.08.03"),
        date="1912.07.20",
        round=6,
        eco="C10",
    ),
    Game(
        Player("Capablanca", "José Raúl"),
        MARSHALL,
        "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 e8g8 c2c3 d7d5 e4d5 f6d5 f3e5 c6e5 e1e5 d5f6"
        " e5e1 e7d6 h2h3 f6g4 d1f3 d8h4 d2d4 g4f2 e1e2 c8g4 h3g4 d6h2 g1f1 h2g3 e2f2 h4h1 f1e2 g3f2 c1d2 f2h4 f3h3 a8e8"
        " e2d3 h1f1 d3c2 h4f2 h3f3 f1g1 b3d5 c7c5 d4c5 f2c5 b2b4 c5d6 a2a4 a6a5 a4b5 a5b4 a1a6 b4c3 b1c3 d6b4 b5b6 b4c3"
        " d2c3 h7h6 b6b7 e8e3 d5f7",
        "1-0",
        Tournament("New York", "New York", "1918.10.23", ROUND_ROBIN, nation="USA", flags=3, rounds=14, end="1918.11.12"),
        date="1918.10.23",
        round=1,
        eco="C89",
    ),
    Game(
        Player("Sämisch", "Friedrich"),
        NIMZOWITSCH,
        "d2d4 g8f6 c2c4 e7e6 g1f3 b7b6 g2g3 c8b7 f1g2 f8e7 b1c3 e8g8 e1g1 d7d5 f3e5 c7c6 c4d5 c6d5 c1f4 a7a6 a1c1 b6b5"
        " d1b3 b8c6 e5c6 b7c6 h2h3 d8d7 g1h2 f6h5 f4d2 f7f5 b3d1 b5b4 c3b1 c6b5 f1g1 e7d6 e2e4 f5e4 d1h5 f8f2 h5g5 a8f8"
        " h2h1 f8f5 g5e3 b5d3 c1e1 h7h6",
        "0-1",
        Tournament("Copenhagen", "Copenhagen", "1923", ROUND_ROBIN, nation="DEN"),
        date="1923.03.10",
        eco="E18",
    ),
    Game(
        NIMZOWITSCH,
        Player("Tarrasch", "Siegbert"),
        "d2d4 d7d5 g1f3 c7c5 c2c4 e7e6 e2e3 g8f6 f1d3 b8c6 e1g1 f8d6 b2b3 e8g8 c1b2 b7b6 b1d2 c8b7 a1c1 d8e7 c4d5 e6d5"
        " f3h4 g7g6 h4f3 a8d8 d4c5 b6c5 d3b5 f6e4 b5c6 b7c6 d1c2 e4d2 f3d2 d5d4 e3d4 d6h2 g1h2 e7h4 h2g1 c6g2 f2f3 f8e8"
        " d2e4 h4h1 g1f2 g2f1 d4d5 f7f5 c2c3 h1g2 f2e3 e8e4 f3e4 f5f4 e3f4 d8f8 f4e5 g2h2 e5e6 f8e8 e6d7 f1b5",
        "0-1",
        Tournament("St Petersburg", "St Petersburg", "1914.04.21", ROUND_ROBIN, nation="RUS", flags=3),
        date="1914.04.23",
        eco="D30",
    ),
    # A club match, so that the base has teams and ratings.
    Game(
        Player("Müller", "Hans"),
        Player("Smith", "John"),
        "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6",
        "1/2-1/2",
        Tournament("Friendly match", "Cologne", "2016.07.30", MATCH, team_event=True, nation="GER", rounds=2),
        date="2016.07.30",
        round=1,
        subround=4,
        elo=(2105, 1987),
        eco="B90",
        teams=(Team("SK Köln", 1, nation="GER"), Team("Oxford City", 1, nation="ENG")),
    ),
    # The loser always denied this miniature; so it lies in deleted/.
    Game(
        Player("Gibaud", "Amédée"),
        Player("Lazard", "Frédéric"),
        "d2d4 g8f6 b1d2 e7e5 d4e5 f6g4 h2h3 g4e3",
        "0-1",
        Tournament("Casual game", "Paris", "1924", SINGLE, nation="FRA"),
        date="1924.??.??",
        eco="A45",
        deleted=True,
    ),
]

ABOUT = Text(
    {"en": "About these games"},
    {
        "en": '<html><head><meta charset="utf-8"><title>About</title></head><body><p>Games by Morphy, Réti and others,'
        " known to every player.</p></body></html>"
    },
)


def cases():
    """The sample base."""
    return [Case(Base("sample", [*GAMES, ABOUT], title="Famous games"))]
