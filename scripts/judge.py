#!/usr/bin/env python3
"""Readers that are not ours judge the text cbfs writes: python-chess, pgn-extract and Scid.

    judge.py truth TRUTH.jsonl PGN…    every game is what the truth says, and loads without an error
    judge.py load PGN…                 every game loads without an error
    judge.py chessbase EXPORT.pgn PGN  every game has the tags ChessBase wrote
    judge.py copies EXPORT.pgn PGN     every game is one of an export, in turn, but for names
    judge.py book TSV BIN EPD PGN      the exports of an opening book agree with each other and with the rules

PGN is a file with many games, or a directory of files NNNNNN.pgn. A file holds the games that are not deleted, in the
order of their numbers; a directory named `deleted` holds those that are. Needs the package `chess`; see scripts/test.
"""

import argparse
import io
import json
import logging
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import chess
import chess.pgn
import chess.polyglot
from pgnsplit import split_games

CHESS960_MODES = (10, 11)
RESULT_TAGS = {"line": "*", "-:+": "0-1", "=:=": "1/2-1/2", "+:-": "1-0", "0-0": "*"}
# ChessBase says "chess 960", and names the rooks' files in every FEN of Chess960.
SPELLED_OTHERWISE = {"Variant", "FEN"}
SHOWN_DIFFERENCES = 20
# Of a larger book so many positions are judged, and its PGN is only counted.
JUDGED_POSITIONS = 20_000
# What ChessBase shows nowhere: languages, places, and where reading ended.
OUR_COMMANDS = re.compile(r"\[%cb(lang|pre|defect)[^]]*\]")
# What scripts/multiply changes.
NAME_TAGS = re.compile(rb'^\[(Event|White|Black|WhiteTeam|BlackTeam) ".*"\]$', re.MULTILINE)
# Debian keeps games out of root's PATH.
GAMES_PATH = os.environ["PATH"] + ":/usr/games"
PGN_EXTRACT = shutil.which("pgn-extract", path=GAMES_PATH)
TKSCID = shutil.which("tkscid", path=GAMES_PATH)
# Scid's own reader of PGN, without its windows. It knows no Chess960, and no position without both kings.
SCID_IMPORT = """
if {[catch {sc_base create [lindex $argv 0]} error]} { puts "cannot make a base: $error"; exit 1 }
lassign [sc_base import [sc_base current] [lindex $argv 1]] count complaints
puts "$count games"
puts $complaints
exit 0
"""


@dataclass
class Reading:
    """What python-chess finds in the text of one game."""

    errors: list
    headers: dict
    start: chess.Board
    main: str
    tree: str
    comments: str


def read(data):
    """Read a game with python-chess."""
    stream = io.StringIO(data.decode("utf-8"))
    game = chess.pgn.read_game(stream)
    errors = [str(error) for error in game.errors]
    if not data.startswith(b'[Event "'):
        errors.append("does not begin with its Event")
    if chess.pgn.read_game(stream):
        errors.append("more than one game")
    main, node = [], game
    while node.variations:
        node = node.variations[0]
        main.append(node.move.uci())
    headers = {name: unescape(value) for name, value in game.headers.items()}
    return Reading(errors, headers, game.board(), " ".join(main), spell(game), comments(game))


def unescape(value):
    """A tag's value; python-chess leaves the backslashes in."""
    return re.sub(r'\\(["\\])', r"\1", value)


def spell(game):
    """The moves in UCI, a variation in parentheses after the move it replaces; a null move is 0000."""
    words, waiting = [], [(game, False)]  # a node whose answers are due, or a word
    while waiting:
        node, is_word = waiting.pop()
        if is_word:
            words.append(node)
            continue
        if not node.variations:
            continue
        main, *others = node.variations
        words.append(main.move.uci())
        waiting.append((main, False))
        for other in reversed(others):
            waiting += [(")", True), (other, False), (f"({other.move.uci()}", True)]
    return " ".join(words).replace(" )", ")")


def comments(game):
    """All comments of a game."""
    found, waiting = [], [game]
    while waiting:
        node = waiting.pop()
        found += [node.comment, getattr(node, "starting_comment", "")]
        waiting += node.variations
    return "\n".join(comment for comment in found if comment)


def expected_tags(record):
    """The tags that must have this value; nothing: the tag must be absent."""
    headers = record["headers"]
    eco_index = (headers["eco"] >> 7) - 1
    tags = {name: headers[name] or "?" for name in ("White", "Black", "Event", "Site")}
    tags |= {
        "Annotator": headers["Annotator"],
        "Date": headers["Date"] or "????.??.??",
        "Result": RESULT_TAGS.get(headers["Result"], headers["Result"]),
        "Round": spell_round(headers["Round"], headers["Sub"]),
        "WhiteElo": headers["WElo"] or "",
        "BlackElo": headers["BElo"] or "",
        "ECO": f"{'ABCDE'[eco_index // 100]}{eco_index % 100:02}" if 0 <= eco_index < 500 else "",
    }
    return tags | record.get("tags", {})


def spell_round(round_, subround):
    """`5`, `5.2`, `?.2` or `?`."""
    main = str(round_) if round_ else "?"
    return f"{main}.{subround}" if subround else main


def compare(record, reading):
    """One line for each way in which a game is not what the truth says."""
    yield from (f"python-chess: {error}" for error in reading.errors)
    for name, value in expected_tags(record).items():
        found = reading.headers.get(name, "")
        if found != str(value):
            yield f"{name} is {found!r}, should be {str(value)!r}"
    fen = record["fen"]
    start = chess.Board(fen or chess.STARTING_FEN, chess960=record["mode"] in CHESS960_MODES)
    if place(start) != place(reading.start):
        yield f"starts from {reading.start.fen()}, should be {start.fen()}"
    for what in ("main", "tree"):
        found, wanted = getattr(reading, what), record[what].replace("--", "0000")
        if found != wanted:
            yield f"{what} {first_difference(found, wanted)}"
    defect = record.get("defect") or record.get("err")
    if bool(defect) != ("[%cbdefect" in reading.comments):
        yield "does not say its defect" if defect else "says a defect it has not"
    elif record.get("defect", "") not in reading.comments:
        yield f"its defect does not mention {defect}"


def place(board):
    """All of a position that counts. Castling rights as squares of rooks, so that the letters do not matter."""
    en_passant = board.ep_square if board.has_legal_en_passant() else None
    rights = board.clean_castling_rights()
    return board.board_fen(), board.turn, rights, en_passant, board.fullmove_number


def first_difference(found, wanted):
    """Where two lines of moves part."""
    found, wanted = found.split(), wanted.split()
    at = next((i for i, pair in enumerate(zip(found, wanted)) if pair[0] != pair[1]), min(len(found), len(wanted)))
    return f"differs at word {at + 1}: {' '.join(found[at : at + 4])!r}, should be {' '.join(wanted[at : at + 4])!r}"


def load_games(paths, numbers):
    """The texts by number; `numbers` are those of the games in a file."""
    games = {}
    for path in paths:
        if path.is_dir():
            games |= {int(file.stem): file.read_bytes() for file in sorted(path.glob("*.pgn"))}
        else:
            texts = split_games(path.read_bytes())
            if numbers is not None and len(texts) != len(numbers):
                sys.exit(f"{path}: {len(texts)} games, should be {len(numbers)}")
            games |= dict(zip(numbers or range(1, len(texts) + 1), texts, strict=True))
    return games


def judge_truth(truth, paths):
    """Compare all games with the truth; returns the number of games and what is wrong, by number."""
    records = [json.loads(line) for line in truth.read_text("utf-8").splitlines()]
    records = {record["id"]: record for record in records if record.get("kind") != "text"}
    present = [number for number, record in records.items() if not record["deleted"]]
    games = load_games(paths, present)
    problems = [(number, "is missing") for number in present if number not in games]
    problems += [(number, "is no game") for number in games if number not in records]
    problems += misplaced(paths, records)
    judged = {number: text for number, text in games.items() if number in records}
    readings = read_all(judged)
    for number, reading in readings.items():
        problems += [(number, line) for line in compare(records[number], reading)]
    return len(judged), problems + complaints(judged, readings)


def misplaced(paths, records):
    """Games that are deleted and not in a directory of that name, or the other way round."""
    for path in filter(Path.is_dir, paths):
        for number in (int(file.stem) for file in path.glob("*.pgn")):
            if number in records and records[number]["deleted"] != (path.name == "deleted"):
                yield number, f"should not be in {path}"


def judge_load(paths):
    """Load all games."""
    games = {}
    for path in paths:
        games |= {f"{path.name}:{number}": text for number, text in load_games([path], None).items()}
    readings = read_all(games)
    problems = [(name, f"python-chess: {error}") for name, reading in readings.items() for error in reading.errors]
    return len(games), problems + complaints(games, readings)


def judge_chessbase(export, path):
    """Compare with ChessBase's own export: tags, of which ours may be more, moves, NAGs and the words of comments."""
    their_texts = split_games(without_mark(export.read_bytes()))
    our_texts = split_games(path.read_bytes())
    theirs = [read(text) for text in their_texts]
    ours = [read(text) for text in our_texts]
    problems = [] if len(theirs) == len(ours) else [("export", f"has {len(theirs)} games, not {len(ours)}")]
    for number, (their, our) in enumerate(zip(theirs, ours), 1):
        for name, value in their.headers.items():
            found = our.headers.get(name, "")
            if name not in SPELLED_OTHERWISE and found != value:
                problems.append((number, f"{name} is {found!r}, ChessBase has {value!r}"))
    for number, (their, our) in enumerate(zip(their_texts, our_texts), 1):
        differing = [pair for pair in zip_longest(annotated_moves(our), annotated_moves(their)) if pair[0] != pair[1]]
        problems += [(number, f"{mine}, ChessBase has {other}") for mine, other in differing]
    return len(ours), problems


def judge_copies(export, path):
    """Compare the text of every game with that of the game it is a copy of; the first copy has the names too."""
    originals = split_games(export.read_bytes())
    copies = split_games(path.read_bytes())
    problems = [] if len(copies) > len(originals) else [("export", f"has {len(copies)} games")]
    for number, copy in enumerate(copies):
        original = originals[number % len(originals)]
        if number >= len(originals):
            original, copy = NAME_TAGS.sub(rb"[\1]", original), NAME_TAGS.sub(rb"[\1]", copy)
        if copy != original:
            problems.append((number + 1, f"is not game {number % len(originals) + 1} of {export.name} again"))
    if len(originals) > 1 and len(set(copies)) == len(originals):
        problems.append(("export", "has the same names again and again"))
    return len(copies), problems


def judge_book(table, polyglot, epd, pgn):
    """Hold the Polyglot book, the EPD and the PGN of a book against its table of positions."""
    names, *lines = [line.split("\t") for line in table.read_text().splitlines()]
    rows = [dict(zip(names, line, strict=True)) for line in lines]
    by_board = {row["fen"]: row for row in rows}
    problems = [] if len(by_board) == len(rows) else [("table", "has a position twice")]
    step = -(-len(rows) // JUDGED_POSITIONS) or 1
    entries = 0
    with chess.polyglot.open_reader(polyglot) as reader:
        keys = [entry.key for entry in reader]
        entries = len(keys)
        if keys != sorted(keys):
            problems.append(("book.bin", "is not sorted"))
        for row in rows[::step]:
            problems += [(row["fen"], what) for what in polyglot_complaints(row, reader, by_board)]
    listed = sum(len(row["moves"].split()) for row in rows)
    if entries != listed:
        problems.append(("book.bin", f"has {entries} moves, the table {listed}"))
    for line, row in zip_longest(epd.read_text().splitlines()[::step], rows[::step]):
        board, opcodes = chess.Board.from_epd(line)
        if board.epd(en_passant="xfen") != row["fen"] or not opcodes["c0"].startswith(f"games {row['games']} "):
            problems.append((line, "is not the EPD of its row"))
    problems += [("book.pgn", what) for what in tree_complaints(pgn, rows, listed)]
    return len(rows), problems


def polyglot_complaints(row, reader, by_board):
    """What is wrong with the entries of one position: they are the moves of its row, weighed by what they led to."""
    board = chess.Board(f"{row['fen']} 0 1")
    found = {entry.move: entry.weight for entry in reader.find_all(board, minimum_weight=0)}
    raw, games, refused = {}, {}, set()
    for san in row["moves"].split():
        move = board.parse_san(san.rstrip("!?"))
        after = board.copy()
        after.push(move)
        child = by_board.get(after.epd(en_passant="xfen"), {"white": 0, "draws": 0, "black": 0, "games": 0, "flags": ""})
        raw[move] = 2 * int(child["white" if board.turn else "black"]) + int(child["draws"])
        games[move] = int(child["games"])
        if child["flags"] == "red" or re.search(r"[^!]\?$", san):
            refused.add(move)
    wanted = raw if any(points for move, points in raw.items() if move not in refused) else games
    wanted = {move: 0 if move in refused else weight for move, weight in wanted.items()}
    if max(wanted.values(), default=0) <= 0xFFFF and found != wanted:
        yield f"book.bin has {found}, not {wanted}"
    if list(games.values()) != sorted(games.values(), reverse=True):
        yield "the moves are not in order"


def tree_complaints(pgn, rows, listed):
    """What is wrong with the book as one game: it has every move of the table once."""
    if len(rows) > JUDGED_POSITIONS:
        return
    with pgn.open() as text:
        game = chess.pgn.read_game(text)
        yield from map(str, game.errors)
        if chess.pgn.read_game(text):
            yield "has another game"
    waiting, moves, boards = [(game, game.board())], 0, set()
    while waiting:
        node, board = waiting.pop()
        boards.add(board.epd(en_passant="xfen"))
        for child in node.variations:
            moves += 1
            after = board.copy(stack=False)
            after.push(child.move)
            waiting.append((child, after))
    missing = {row["fen"] for row in rows} - boards
    if missing:
        yield f"lacks {len(missing)} positions, of them {min(missing)}"
    if moves != listed:
        yield f"has {moves} moves, the table {listed}"


def annotated_moves(data):
    """Every move of a game with its NAGs and the words of its comments, without our own commands."""
    game = chess.pgn.read_game(io.StringIO(data.decode("utf-8")))
    found, waiting = [], [game]
    while waiting:
        node = waiting.pop()
        words = [OUR_COMMANDS.sub("", text).split() for text in (node.starting_comment, node.comment)]
        found.append((str(node.move), sorted(node.nags), *words))
        waiting += reversed(node.variations)
    return found


def without_mark(data):
    """Text without a byte order mark, with plain line ends."""
    return data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")


def read_all(games):
    """Read with all processors."""
    with multiprocessing.Pool(initializer=logging.disable) as pool:
        return dict(zip(games, pool.map(read, games.values(), chunksize=64), strict=True))


def complaints(games, readings):
    """What the other programs say."""
    return pgn_extract_complaints(games, readings) + scid_complaints(games, readings)


def scid_complaints(games, readings):
    """What Scid says of the games it can hold, or drops."""

    def can_hold(reading):
        kings = [reading.start.king(color) for color in chess.COLORS]
        return not reading.start.chess960 and None not in kings

    texts = [text for number, text in games.items() if can_hold(readings[number])]
    if not texts:
        return []
    with tempfile.TemporaryDirectory() as directory:
        pgn, script = Path(directory, "games.pgn"), Path(directory, "import.tcl")
        pgn.write_bytes(b"".join(texts))
        script.write_text(SCID_IMPORT)
        command = ["xvfb-run", "-a", TKSCID, script, Path(directory, "base"), pgn]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    first, *rest = done.stdout.splitlines() or [done.stderr]
    problems = [("scid", line) for line in rest if line.strip()]
    if first != f"{len(texts)} games":
        problems.append(("scid", f"takes {first} of {len(texts)}"))
    return problems


def pgn_extract_complaints(games, readings):
    """What pgn-extract says of the games, or drops. It takes null moves on the main line only when told so."""
    groups = {True: [], False: []}
    for number, text in games.items():
        groups["0000" in readings[number].main].append(text)
    problems = []
    for has_null_moves, texts in groups.items():
        if texts:
            problems += run_pgn_extract(texts, ["--allownullmoves"] if has_null_moves else [])
    return problems


def run_pgn_extract(texts, options):
    """Pass games through pgn-extract; lines may be longer than it writes them, since a word of a text may."""
    with tempfile.NamedTemporaryFile(suffix=".pgn") as file:
        file.writelines(texts)
        file.flush()
        done = subprocess.run([PGN_EXTRACT, "-s", "-w1000", *options, file.name], capture_output=True, check=False)
    lines = done.stderr.decode(errors="replace").splitlines()
    problems = [("pgn-extract", line) for line in lines if not line.startswith("Games: ")]
    passed = sum(line.startswith(b'[Event "') for line in done.stdout.splitlines())
    if passed != len(texts):
        problems.append(("pgn-extract", f"takes {passed} games of {len(texts)}"))
    return problems


def main():
    """Judge, and exit 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    truth = commands.add_parser("truth", help="compare with what is known to be in a base")
    truth.add_argument("truth", type=Path)
    truth.add_argument("pgn", type=Path, nargs="+")
    load = commands.add_parser("load", help="see that all games load")
    load.add_argument("pgn", type=Path, nargs="+")
    chessbase = commands.add_parser("chessbase", help="compare the tags with an export of ChessBase")
    chessbase.add_argument("export", type=Path)
    chessbase.add_argument("pgn", type=Path)
    copies = commands.add_parser("copies", help="compare with the export of a base that was multiplied")
    copies.add_argument("export", type=Path)
    copies.add_argument("pgn", type=Path)
    book = commands.add_parser("book", help="compare the exports of an opening book")
    for name in ("table", "polyglot", "epd", "tree"):
        book.add_argument(name, type=Path)
    arguments = parser.parse_args()
    if arguments.command == "book":
        count, problems = judge_book(arguments.table, arguments.polyglot, arguments.epd, arguments.tree)
        finish(count, "positions", problems)
    for program, found in (("pgn-extract", PGN_EXTRACT), ("scid", TKSCID), ("xvfb-run", shutil.which("xvfb-run"))):
        if not found:
            sys.exit(f"judge.py: {program} is not installed")

    if arguments.command == "truth":
        count, problems = judge_truth(arguments.truth, arguments.pgn)
    elif arguments.command == "load":
        count, problems = judge_load(arguments.pgn)
    elif arguments.command == "chessbase":
        count, problems = judge_chessbase(arguments.export, arguments.pgn)
    else:
        count, problems = judge_copies(arguments.export, arguments.pgn)
    finish(count, "games", problems)


def finish(count, what, problems):
    """Say what was found, and exit 1 if that is anything."""
    for where, problem in problems[:SHOWN_DIFFERENCES]:
        print(f"  {where}: {problem}")
    if len(problems) > SHOWN_DIFFERENCES:
        print(f"  … and {len(problems) - SHOWN_DIFFERENCES} more")
    print(f"{count} {what}, {len(problems)} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
