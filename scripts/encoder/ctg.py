"""A writer of CTG books, from the layout of the files: it shares nothing with cbfs.

Squares count by file, as in `board`. "We" are the side to move.
"""

from dataclasses import dataclass, field

from . import board as boards
from .board import file_of, rank_of, square

PAGE_BYTES = 4096
NO_PAGE = 0xFFFFFFFF
# By piece and number: files to the right, ranks up, both modulo 8, and the byte of the move.
STEPS = {
    "B1": "112E 1726 22C1 26B2 330D 353C 446A 5366 5515 62C3 663A 711B 7712",
    "B2": "11F5 1772 22C2 2679 33B9 35CC 449F 53CA 5532 6222 6609 7154 771D",
    "B3": "1173 1751 226D 26E4 33FC 35B8 4468 53E2 553E 6293 6616 71A1 774F",
    "K1": "0113 070A 10BE 1167 1744 7097 71DF 778C",
    "N1": "1234 168A 2136 27E9 61F7 670F 7285 76DA",
    "N2": "124C 162A 21D2 27E0 61D3 6701 72F3 7630",
    "N3": "1260 1689 213F 2743 6119 673D 722B 76B4",
    "P1": "01EC 02DB 118B 710C",
    "P2": "0104 0262 1196 71D1",
    "P3": "0155 029B 117C 7127",
    "P4": "01CF 02E6 11EB 7106",
    "P5": "01BB 025F 1100 71DE",
    "P6": "01CB 02B1 112D 7182",
    "P7": "0118 02C8 115C 71C7",
    "P8": "01A3 024A 1114 7124",
    "Q1": (
        "0105 029D 0394 0437 05B7 069A 07FD 102F 11F1 1742 2074 22A2 2680 3031 3345 354B 40E5 44E7 5039 537E "
        "5528 6029 62D9 6661 708F 71D7 77ED"
    ),
    "Q2": (
        "014D 02BD 03A0 04B0 05C6 061A 07C9 10F8 1192 1763 2003 22FB 26AB 30FA 33AE 353B 4008 4438 50BC 53FE "
        "5541 60F9 628E 6623 70F0 71EE 776F"
    ),
    "Q3": (
        "0159 0265 0371 04EA 0576 0657 07CE 1064 1125 171E 20D4 22BA 266C 309E 33DC 352C 4017 4435 5077 5370 "
        "5546 6090 6275 664E 7007 71D5 77AC"
    ),
    "R1": "0181 02E8 037A 0499 0587 0650 07E1 107F 20CD 3098 40EF 506E 6052 7086",
    "R2": "017D 02F4 03E3 04C5 05A5 067B 0769 10C4 20A9 300E 40AD 50B5 60D8 7021",
    "R3": "01A8 0210 035E 0495 059C 06C0 07D6 10F2 2040 305D 4033 5083 60BF 700B",
}
CODES = {
    (piece[0], int(piece[1]), int(step[0]), int(step[1])): int(step[2:], 16)
    for piece, steps in STEPS.items()
    for step in steps.split()
}
CASTLING = {"short": 0x6B, "long": 0xF6}
PIECE_BITS = {"P": "11", "R": "1011", "B": "1010", "N": "1001", "Q": "10001", "K": "10000"}
# The table of the dbm hash.
HASH = bytes.fromhex(
    "3100d2bf3118e3de34ab13722807a8471633f5662143b35926d564883b9e6f59"
    "377556563089ca7b18e92d850cd0e9d81a9e3b543eaa902f0d9bfaae2f32b45b"
    "31ed61023d3c8398146660e30f8d4b7602c77a5f146c87991c47f51f249f8f36"
    "247720431fbc1e4d1e86b3fa37df36a616ed30e402c3148e216e59290636b34e"
    "317f9f5615f09d70131026fb38c784b129ac33052b485dc53c049ddc35a9fbcd"
    "31d5373b2b2467990a2923d308a96e9d30031a9f08f525b533611c062409db98"
    "0ca4feb21000b71e30566e3239447d31194e375208233a950f38fe3629c7cd57"
    "0f7b3a39328e8a161e7d13880fba78f5274c7e7c1e8be65c2fa0b0bb1eb6c371"
)
# What the rights hang on: the square that must not be left or taken.
HOMES = {"K": ("e1", "h1"), "Q": ("e1", "a1"), "k": ("e8", "h8"), "q": ("e8", "a8")}


def calc_hash(signature):
    """The hash that says on which page a signature lies."""
    at = total = 0
    for byte in signature:
        for nibble in (byte & 15, byte >> 4):
            at = (at + 61 - 4 * nibble) & 63
            total = total + int.from_bytes(HASH[4 * at : 4 * at + 4]) & 0xFFFFFFFF
    return total


class Position:
    """A board with what else belongs to a position."""

    def __init__(self, fen=boards.START_FEN):
        self.board = boards.Board(fen)
        fields = fen.split()
        self.rights = set(fields[2]) - {"-"}
        self.stepped = None if fields[3] == "-" else "abcdefgh".index(fields[3][0])

    def copy(self):
        """The same position once more."""
        twin = object.__new__(Position)
        twin.board, twin.rights, twin.stepped = self.board.copy(), set(self.rights), self.stepped
        return twin

    def play(self, uci):
        """Play a move."""
        move = self.board.play(uci)
        ends = {uci[:2], uci[2:4]}
        self.rights = {right for right in self.rights if not ends & set(HOMES[right])}
        is_step = move.kind == "P" and abs(rank_of(move.origin) - rank_of(move.target)) == 2
        self.stepped = file_of(move.target) if is_step else None

    def turned(self):
        """The pieces, rights and en passant file as books have them, and the turns that were made."""
        black = self.board.turn
        pieces = {sq ^ 7 * black: (colour ^ black, kind) for sq, (colour, kind) in self.board.pieces.items()}
        rights = {right.swapcase() for right in self.rights} if black else self.rights
        king = next(sq for sq, piece in pieces.items() if piece == (0, "K"))
        mirrored = not rights and file_of(king) < 4
        turn = 56 * mirrored
        pieces = {sq ^ turn: piece for sq, piece in pieces.items()}
        stepped = self.stepped
        if stepped is not None:
            stepped = 7 - stepped if mirrored else stepped
            beside = [8 * file + 4 for file in (stepped - 1, stepped + 1) if 0 <= file < 8]
            if not any(pieces.get(sq) == (0, "P") for sq in beside):
                stepped = None
        return pieces, rights, stepped, turn ^ 7 * black

    def signature(self):
        """The bytes by which a book knows the position."""
        pieces, rights, stepped, _ = self.turned()
        bits = ""
        for sq in range(64):
            if sq in pieces:
                colour, kind = pieces[sq]
                bits += PIECE_BITS[kind] + str(colour)
            else:
                bits += "0"
        tail = "" if stepped is None else f"{stepped:03b}"
        if rights:
            tail += "".join(str(int(right in rights)) for right in "kqKQ")
        if not tail:
            bits += "0"
        bits += "0" * (-(len(bits) + len(tail)) % 8) + tail
        code = int(bits, 2).to_bytes(len(bits) // 8)
        flags = 0x20 * (stepped is not None) + 0x40 * bool(rights)
        return bytes([len(code) + 1 | flags]) + code

    def code(self, uci):
        """The byte of a move."""
        pieces, _, _, turn = self.turned()
        origin, target = square(uci[:2]) ^ turn, square(uci[2:4]) ^ turn
        _, kind = pieces[origin]
        if kind == "K" and abs(file_of(origin) - file_of(target)) == 2:
            return CASTLING["short" if target > origin else "long"]
        same = sorted(sq for sq, piece in pieces.items() if piece == (0, kind))
        files = (file_of(target) - file_of(origin)) % 8
        ranks = (rank_of(target) - rank_of(origin)) % 8
        return CODES[kind, same.index(origin) + 1, files, ranks]

    def fen(self):
        """The FEN, with an en passant square where a book has one."""
        rows = []
        for rank in range(7, -1, -1):
            row, gap = "", 0
            for file in range(8):
                piece = self.board.pieces.get(8 * file + rank)
                if piece is None:
                    gap += 1
                    continue
                row += (str(gap) if gap else "") + (piece[1].lower() if piece[0] else piece[1])
                gap = 0
            rows.append(row + (str(gap) if gap else ""))
        step = "-"
        if self.turned()[2] is not None:
            step = "abcdefgh"[self.stepped] + ("3" if self.board.turn else "6")
        rights = "".join(right for right in "KQkq" if right in self.rights) or "-"
        return f"{'/'.join(rows)} {'wb'[self.board.turn]} {rights} {step} 0 1"


@dataclass
class Record:
    """What a book has of one position, seen by the side to move."""

    fen: str
    moves: list = field(default_factory=list)  # (move in UCI, its byte)
    annotations: dict = field(default_factory=dict)  # by the byte of the move
    total: int = 0
    wins: int = 0
    losses: int = 0
    draws: int = 0
    score: int = 0
    ratings: list = field(default_factory=lambda: [0, 0, 0, 0])  # ours, theirs: players, sum
    flags: int = 0
    weight: int = 0
    comment: int = 0

    def content(self):
        """The bytes after the signature."""
        content = bytes([2 * len(self.moves) + 1])
        for _, code in self.moves:
            content += bytes([code, self.annotations.get(code, 0)])
        for number in (self.total, self.wins, self.losses, self.draws):
            content += number.to_bytes(3)
        content += self.score.to_bytes(4)
        for players, total in (self.ratings[:2], self.ratings[2:]):
            content += players.to_bytes(3) + total.to_bytes(4)
        return content + bytes([self.flags, self.weight & 0xFF, self.comment])

    def expectation(self):
        """A line saying what a reader must find."""
        moves = " ".join(f"{uci}:{code:02x}:{self.annotations.get(code, 0):02x}" for uci, code in self.moves)
        fields = (self.fen, self.total, self.wins, self.losses, self.draws, self.score, *self.ratings)
        return "\t".join(map(str, (*fields, f"0x{self.flags:02x}", self.weight, f"0x{self.comment:02x}", moves)))


EXPECTATION_COLUMNS = (
    "fen total wins_stm losses_stm draws score10 r1_games r1_sum r2_games r2_sum flags factor comment "
    "moves(uci:code:annotation)"
).replace(" ", "\t")


@dataclass
class Game:
    """A line that is put into a book."""

    moves: str
    result: str = "*"
    ratings: tuple = (0, 0)  # White's, Black's; 0: none
    fen: str = boards.START_FEN


class Book:
    """A book under construction."""

    def __init__(self, name, page_bytes=PAGE_BYTES):
        self.name = name
        self.page_bytes = page_bytes
        self.records = {}
        self.games = 0

    def record(self, position):
        """The record of a position, which may be a new one."""
        return self.records.setdefault(position.signature(), Record(position.fen()))

    def add(self, game):
        """Count a game in all its positions, each once."""
        self.games += 1
        position, counted = Position(game.fen), set()
        moves = game.moves.split()
        for number in range(len(moves) + 1):
            record = self.record(position)
            if position.signature() not in counted:
                counted.add(position.signature())
                self._count(record, position.board.turn, game)
            if number < len(moves):
                code = position.code(moves[number])
                if all(code != known for _, known in record.moves):
                    record.moves.append((moves[number], code))
                position.play(moves[number])

    def _count(self, record, turn, game):
        record.total += 1
        won = {"1-0": 0, "0-1": 1}.get(game.result)
        if won == turn:
            record.wins += 1
            record.score += 10
        elif won is not None:
            record.losses += 1
        else:
            record.draws += game.result == "1/2-1/2"
            record.score += 5
        for place, side in ((0, turn), (2, 1 - turn)):
            if game.ratings[side]:
                record.ratings[place] += 1
                record.ratings[place + 1] += game.ratings[side]

    def at(self, line):
        """The record after a line from the usual start."""
        position = Position()
        for uci in line.split():
            position.play(uci)
        return self.records[position.signature()], position

    def mark(self, line, *, comment=0, flags=0, weight=0, **annotations):
        """Say something of the position after a line, and of moves there."""
        record, position = self.at(line)
        record.comment, record.flags, record.weight = comment, flags, weight
        for uci, nag in annotations.items():
            record.annotations[position.code(uci)] = nag

    def files(self):
        """Every file by its extension."""
        leaves, split = self._leaves()
        pages = b""
        entries = [NO_PAGE] * (max(leaves) + 1)
        for page, node in enumerate(sorted(leaves)):
            entries[node] = page
            content = b"".join(signature + self.records[signature].content() for signature in leaves[node])
            head = len(leaves[node]).to_bytes(2) + (len(content) + 4).to_bytes(2)
            # What follows the records is garbage in real books too.
            pages += (head + content).ljust(PAGE_BYTES, b"\x17")
        header = bytearray(PAGE_BYTES)
        header[0:16] = bytes.fromhex("0020100000010001000010007fff7fff")
        header[16:32] = b"".join(n.to_bytes(4) for n in (len(leaves), NO_PAGE, len(self.records), self.games))
        header[1024:1032] = bytes.fromhex("000100010005001e")
        whole = max(leaves) // 8 * 8 + 8 if split else 0
        bitmap = bytearray(whole // 8)
        for node in split:
            bitmap[node // 8] |= 1 << node % 8
        low = next((node for node in range(0, whole, 8) if bitmap[node // 8] != 0xFF), whole)
        return {
            "ctg": bytes(header) + pages,
            "cto": bytes.fromhex("00100001")
            + len(entries).to_bytes(4)
            + bytes(4)
            + low.to_bytes(4)
            + b"".join(entry.to_bytes(4) for entry in entries),
            "ctb": bytes.fromhex("000c0001") + low.to_bytes(4) + whole.to_bytes(4) + bytes(bitmap),
        }

    def _leaves(self):
        """The signatures by leaf, and the nodes that are split."""
        leaves, split = {0: []}, set()
        for signature in self.records:
            hashed = calc_hash(signature)
            while True:
                mask = 0
                while (hashed & mask) + mask in split:
                    mask = 2 * mask + 1
                node = (hashed & mask) + mask
                leaf = leaves.setdefault(node, [])
                used = 4 + sum(len(s) + len(self.records[s].content()) for s in leaf)
                if used + len(signature) + len(self.records[signature].content()) <= self.page_bytes:
                    leaf.append(signature)
                    break
                split.add(node)
                deeper = 2 * mask + 1
                for side in (0, mask + 1):
                    leaves[(hashed & mask | side) + deeper] = []
                for known in leaves.pop(node):
                    leaves[(calc_hash(known) & deeper) + deeper].append(known)
        return leaves, split

    def expectations(self):
        """A table of what a reader must find."""
        lines = [record.expectation() for record in self.records.values()]
        return "".join(f"{line}\n" for line in (EXPECTATION_COLUMNS, *lines)).encode()
