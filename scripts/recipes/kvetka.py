"""A small Kvetka book in both byte orders of its strings, the PGN file it names, and what a reader must find."""

import struct
from collections import OrderedDict

from encoder.board import START_FEN, Board, file_of, rank_of, square

# White, Black, their ratings, result, start, moves as UCI, moves as SAN.
RUY = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 e1g1", "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. O-O"
PASSING = "e2e4 d7d5 e4e5 f7f5 e5f6", "1. e4 d5 2. e5 f5 3. exf6"
QUEENS = "d2d4 d7d5 c2c4 e7e6 b1c3 g8f6", "1. d4 d5 2. c4 e6 3. Nc3 Nf6"
ENGLISH = "c2c4 e7e6 b1c3 g8f6 d2d4 d7d5", "1. c4 e6 2. Nc3 Nf6 3. d4 d5"
ENDING = "b2c3 e5e6", "1. Kc3 Ke6"
ENDING_FEN = "8/8/8/4k3/8/8/1K1R4/8 w - - 0 1"
GAMES = [
    ("First, A", "Second, B", 2700, 2650, "1-0", START_FEN, *RUY),
    ("Second, B", "First, A", 2650, 2700, "1/2-1/2", START_FEN, *PASSING),
    ("Third, C", "First, A", 0, 2700, "0-1", START_FEN, *QUEENS),
    ("First, A", "Third, C", 2700, 0, "1-0", START_FEN, *ENGLISH),
    ("Second, B", "Third, C", 2650, 0, "*", ENDING_FEN, *ENDING),
]
RESULTS = {"0-1": 0, "1-0": 1, "1/2-1/2": 2, "*": 3}
TITLE = "Маленькая книга"
COMMENT = "C20|King's Pawn Game"
COMMENTED = "e2e4 e7e5"

CODES = {"P": "11", "R": "1011", "B": "1010", "N": "1001", "Q": "10001", "K": "10000"}
LINES = ["01 02 03 04 05 06 07", "10 20 30 40 50 60 70"]
DIAGONALS = ["11 22 33 44 55 66 77", "71 62 53 44 35 26 17"]
STEPS = [  # kind, how many of them, steps in the order of their codes
    ("P", 8, "01 02 11 71"),
    ("N", 2, "12 72 21 61 27 67 16 76"),
    ("B", 2, " ".join(DIAGONALS)),
    ("R", 2, " ".join(LINES)),
    ("Q", 3, " ".join(LINES + DIAGONALS)),
    ("K", 1, "01 11 71 10 70 07 17 77"),
]
CASTLING = {"short": 0xC4, "long": 0xC5}
BLOCK = 2048
# So that so few positions fill several blocks.
FILLED = 500


def move_codes():
    """The byte of each move: by kind, number from 1, and step."""
    codes, code = {}, 0
    for kind, count, steps in STEPS:
        for number in range(1, count + 1):
            for step in steps.split():
                codes.setdefault((kind, number, int(step[0]), int(step[1])), code)
                code += 1
    return codes


MOVE_CODES = move_codes()


class Position:
    """A board with the rights that its pieces do not show."""

    def __init__(self, fen):
        self.board = Board(fen)
        self.rights = fen.split()[2].replace("-", "")
        self.passed = None  # file of a pawn that has just made its double step

    def play(self, uci):
        """Play a move."""
        origin, target = square(uci[:2]), square(uci[2:4])
        kind = self.board.pieces[origin][1]
        is_double = kind == "P" and abs(rank_of(origin) - rank_of(target)) == 2
        self.passed = file_of(origin) if is_double else None
        for corner, right in (("h1", "K"), ("a1", "Q"), ("h8", "k"), ("a8", "q"), ("e1", "KQ"), ("e8", "kq")):
            if square(corner) in (origin, target):
                self.rights = "".join(left for left in self.rights if left not in right)
        self.board.play(uci)

    def fen(self):
        """Four fields, and counters of no meaning."""
        rows = []
        for rank in range(7, -1, -1):
            row, empty = "", 0
            for file in range(8):
                colour, kind = self.board.pieces.get(file * 8 + rank, (0, ""))
                row += (str(empty) if kind and empty else "") + (kind.lower() if colour else kind)
                empty = 0 if kind else empty + 1
            rows.append(row + (str(empty) if empty else ""))
        turn = self.board.turn
        passed = "-" if self.passed is None else "abcdefgh"[self.passed] + "63"[turn]
        return f"{'/'.join(rows)} {'wb'[turn]} {self.rights or '-'} {passed} 0 1"

    def canonical(self):
        """A function that turns squares as the book does, and the file of an en passant capture."""
        turn = self.board.turn
        king = next(sq for sq, piece in self.board.pieces.items() if piece == (turn, "K"))
        is_mirrored = not self.rights and file_of(king) < 4

        def turned(sq):
            file = 7 - file_of(sq) if is_mirrored else file_of(sq)
            return file * 8 + (7 - rank_of(sq) if turn else rank_of(sq))

        passed = self.passed
        if passed is not None:
            beside = [file * 8 + (3 if turn else 4) for file in (passed - 1, passed + 1) if 0 <= file < 8]
            if all(self.board.pieces.get(sq) != (turn, "P") for sq in beside):
                passed = None
            elif is_mirrored:
                passed = 7 - passed
        return turned, passed

    def key(self):
        """22 bytes."""
        turned, passed = self.canonical()
        pieces = {turned(sq): piece for sq, piece in self.board.pieces.items()}
        bits = ""
        for sq in range(64):
            colour, kind = pieces.get(sq, (0, ""))
            bits += CODES[kind] + str(int(colour != self.board.turn)) if kind else "0"
        bits += format(0 if passed is None else passed + 1, "04b")
        order = "KQkq" if self.board.turn else "kqKQ"
        bits += "".join(str(int(right in self.rights)) for right in order)
        assert len(bits) <= 176
        return int(bits.ljust(176, "0"), 2).to_bytes(22, "big")

    def code(self, uci):
        """The byte of a move."""
        turned, _ = self.canonical()
        origin, target = square(uci[:2]), square(uci[2:4])
        piece = self.board.pieces[origin]
        castling = self.board.copy().play(uci).castling
        if castling:
            return CASTLING[castling]
        origin, target, same = turned(origin), turned(target), [
            turned(sq) for sq, other in self.board.pieces.items() if other == piece
        ]
        number = sorted(same).index(origin) + 1
        step = (file_of(target) - file_of(origin)) % 8, (rank_of(target) - rank_of(origin)) % 8
        return MOVE_CODES[(piece[1], number, *step)]


class Element:
    """What the book has of one position."""

    def __init__(self, fen, sample):
        self.fen, self.sample = fen, sample
        self.numbers = [0, 0, 0]  # wins, draws, losses of the side to move
        self.moves = OrderedDict()
        self.comment, self.last_here = "", []

    def encode(self, key, order):
        """The element as bytes."""
        flags = bool(self.comment) | bool(self.last_here) << 1 | 4
        body = key + bytes(self.numbers) + bytes([len(self.moves), *self.moves.values(), flags])
        body += struct.pack(">HI", 0, self.sample)
        if self.comment:
            body += unicode(self.comment, order)
        if self.last_here:
            body += bytes([len(self.last_here)]) + b"".join(struct.pack(">HI", 0, game) for game in self.last_here)
        return compact(len(body)) + body

    def expectation(self):
        """A line for the reader."""
        wins, draws, losses = self.numbers
        moves = " ".join(f"{uci}:{code:02x}:00" for uci, code in self.moves.items())
        return f"{self.fen}\t{wins + draws + losses}\t{wins}\t{losses}\t{draws}\t{moves}\n"


def compact(number):
    """Digits to the base of 128, the highest first."""
    digits = [number & 127]
    while number := number >> 7:
        digits.insert(0, number & 127 | 128)
    return bytes(digits)


def unicode(text, order):
    """A string of 16-bit characters."""
    content = text.encode(f"utf-16-{order}")
    return struct.pack(">I", len(content) // 2) + content


def ansi(text):
    """A string of 8-bit characters."""
    content = text.encode("cp1251")
    return struct.pack(">I", len(content)) + content


def elements():
    """All positions of the games by their keys, sorted."""
    found = {}
    for number, (*_, result, fen, moves, _) in enumerate(GAMES):
        position, played = Position(fen), []
        for uci in [*moves.split(), None]:
            element = found.setdefault(position.key(), Element(position.fen(), number))
            if result != "*":
                winner = {"1-0": 0, "0-1": 1}.get(result)
                place = 1 if winner is None else 0 if winner == position.board.turn else 2
                element.numbers[place] += 1
            if " ".join(played) == COMMENTED:
                element.comment = COMMENT
            if uci is None:
                element.last_here.append(number)
                continue
            element.moves[uci] = position.code(uci)
            position.play(uci)
            played.append(uci)
    return sorted(found.items())


def blocks(order):
    """Blocks, and the first key of each. After the elements stands what must not be read."""
    rows, firsts, content = [], [], b""
    for key, element in elements():
        encoded = element.encode(key, order)
        if not rows or len(content) + len(encoded) > FILLED:
            rows.append(b"")
            firsts.append(key)
            content = b""
        content += encoded
        rows[-1] = struct.pack(">H", len(content) + 2) + content + b"\xaa" * (BLOCK - 2 - len(content))
    return rows, firsts


def pgn():
    """The PGN file, and where each game lies in it."""
    text, places = "", []
    for number, (white, black, white_elo, black_elo, result, fen, _, moves) in enumerate(GAMES, 1):
        tags = [("Event", "Fixture"), ("Site", "?"), ("Date", "????.??.??"), ("Round", str(number))]
        tags += [("White", white), ("Black", black), ("Result", result)]
        tags += [(name, str(elo)) for name, elo in (("WhiteElo", white_elo), ("BlackElo", black_elo)) if elo]
        tags += [("SetUp", "1"), ("FEN", fen)] if fen != START_FEN else []
        game = "".join(f'[{name} "{value}"]\n' for name, value in tags) + f"\n{moves} {result}\n"
        places.append((len(text), len(game)))
        text += game + "\n"
    return text.encode(), places


def sources(name, places, order):
    """The .ksf: the PGN file, a page of the web, a ChessBase database, nothing."""
    games = [
        struct.pack(">II", *place) + ansi(white) + ansi(black) + struct.pack(">HHB", *elos, RESULTS[result])
        for place, (white, black, *elos, result, _, _, _) in zip(places, GAMES, strict=True)
    ]
    web = struct.pack(">II", 1 << 26 | 2, 0) + ansi("Корчной") + ansi("Web, B") + struct.pack(">HHB", 2500, 0, 2)
    base = struct.pack(">II", 46, 46) + ansi("?") + ansi("?") + struct.pack(">HHB", 0, 0, 3)
    rows = [
        (1, f"%currentdir{name}.pgn", games),
        (2, "http://www.example.org/live/game1.htm", [web]),
        (3, "C:\\bases\\sample.cbh", [base]),
        (0, "", []),
    ]
    table, content = struct.pack(">I", len(rows)), b""
    for kind, address, games in rows:
        table += struct.pack(">I", 512 + len(content))
        content += bytes([kind, 0]) + unicode(address, order) + struct.pack(">I", len(games)) + b"".join(games)
    return table.ljust(512, b"\0") + content


def files():
    """Every file by its name."""
    text, places = pgn()
    named = {"kvetka.pgn": text}
    for name, order in (("kvetka", "be"), ("kvetka-le", "le")):
        rows, firsts = blocks(order)
        header = b"\1" + unicode(TITLE, order) + struct.pack(">HHHHBBBI", 2000, 0, 0, 0, 0xFF, 1, 0, len(rows))
        half = len(rows) // 2
        named[f"{name}_0.kob"] = header + b"".join(rows[:half])
        named[f"{name}_1.kob"] = b"".join(rows[half:])
        named[f"{name}.kin"] = b"".join(firsts)
        named[f"{name}.ksf"] = sources("kvetka", places, order)
    names = "fen\ttotal\twins_stm\tlosses_stm\tdraws\tmoves(uci:code:annotation)\n"
    miss = "8/8/8/8/8/4k3/8/4K2R w K - 0 1\tMISS\t\t\t\t\n"
    lines = "".join(element.expectation() for _, element in elements())
    named["kvetka.vectors.tsv"] = (names + lines + miss).encode()
    return named
