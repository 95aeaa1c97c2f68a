#!/usr/bin/env python3
"""python-chess judges what `cbfs find`, or a mount, says of positions, by brute force.

    judge-find.py BINARY BASE… [--positions N] [--seed S] [--mount DIRECTORY]

Every game of a base is exported and played through; for each position that occurs (N of them, drawn by the seed, if there
are more) the games that reach it and the table of what they played there must be those of `cbfs find`. With a directory
to mount at they must be those of `fen/`, there must be a link for each move to the position after it, and `line.pgn` must
lead there; then `find/` is judged by the results. Needs the package `chess`; see scripts/test. Which records are games is read from the file of headers, not asked of cbfs.
"""

import argparse
import io
import random
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from math import log10
from pathlib import Path

import chess
import chess.pgn
from pgnsplit import split_games

# What cbfs takes for no position.
IRREGULAR = (
    chess.STATUS_NO_WHITE_KING | chess.STATUS_NO_BLACK_KING | chess.STATUS_TOO_MANY_KINGS
    | chess.STATUS_PAWNS_ON_BACKRANK | chess.STATUS_OPPOSITE_CHECK | chess.STATUS_EMPTY
)  # fmt: skip
OUTCOMES = {"1-0": "white", "1/2-1/2": "draws", "0-1": "black"}
JUDGED = "san uci games white draws black score avg perf child transposes last".split()
SHOWN = 10


class Played:
    """What some games did."""

    def __init__(self):
        self.games = []

    def row(self, san, uci, mover, child_games):
        """The fields that a table of moves must have."""
        count = {name: sum(OUTCOMES.get(game.result) == name for game in self.games) for name in OUTCOMES.values()}
        decided = sum(count.values())
        share = (count["white"] + count["draws"] / 2) / decided if decided else None
        average = [mean([game.elo[side] for game in self.games if game.elo[side]]) for side in (0, 1)]
        own = share if mover or share is None else 1 - share
        perf = None if own is None or average[mover] is None else average[mover] + difference(own)
        number = lambda value, form: "" if value is None else format(value, form)
        return {
            "san": san, "uci": uci, "games": str(len(self.games)), **{name: str(value) for name, value in count.items()},
            "score": number(None if share is None else 100 * share, ".1f"), "avg": number(average[not mover], ".0f"),
            "perf": number(perf, ".0f"), "child": "1", "transposes": str(int(child_games > len(self.games))),
            "last": str(max(game.year for game in self.games) or ""),
        }  # fmt: skip


class Game:
    """A game, by its text."""

    def __init__(self, number, text):
        self.number = number
        game = chess.pgn.read_game(io.StringIO(text))
        tags = game.headers
        self.result = tags.get("Result", "*")
        self.elo = [int(tags.get(name) or 0) for name in ("WhiteElo", "BlackElo")]
        year = tags.get("Date", "")[:4]
        self.year = int(year) if year.isdigit() else 0
        self.game = game

    def positions(self):
        """Each position of the main line with the board and the move that follows."""
        board = self.game.board()
        for move in [*self.game.mainline_moves(), None]:
            yield key(board), board, move
            if move is not None:
                board.push(move)


def mean(numbers):
    """The average; None of nothing."""
    return sum(numbers) / len(numbers) if numbers else None


def difference(score):
    """What a score is worth in rating points."""
    if score in (0, 1):
        return 800 if score else -800
    return max(-800, min(800, 400 * log10(score / (1 - score))))


def key(board):
    """What tells positions apart."""
    square = board.ep_square if board.has_legal_en_passant() else None
    return board.board_fen(), board.turn, board.clean_castling_rights(), square


def uci(board, move):
    """The move; castling as the king's move where the position may be one of usual chess."""
    usual = chess.Board(None)
    usual.set_board_fen(board.board_fen())
    usual.castling_rights = board.clean_castling_rights()
    return board.uci(move, chess960=usual.clean_castling_rights() != usual.castling_rights)


def numbers_of_games(headers):
    """The numbers of the games that are not deleted, as the file of headers has them."""
    size = 192 if headers.suffix.lower() == ".2cbh" else 46
    data = headers.read_bytes()
    for number in range(1, len(data) // size):
        kind = data[number * size]
        if kind & 1 and not kind & 0x82:
            yield number


def ask(binary, base, *arguments):
    """The lines that cbfs prints."""
    done = subprocess.run([binary, "find", base, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        return [f"exit {done.returncode}: {done.stderr.strip()}"]
    return done.stdout.splitlines()


def name_of(board):
    """The name of a position under fen/."""
    fen = board.fen(en_passant="legal").rsplit(" ", 2)[0]
    return fen.replace("/", ":").replace(" ", "_")


class Command:
    """Answers of `cbfs find`."""

    def __init__(self, binary, base):
        self.binary, self.base = binary, base

    def games(self, name):
        """The games that reach a position."""
        return ask(self.binary, self.base, f"position:{name}", "--numbers")

    def table(self, name):
        """What they played there."""
        return ask(self.binary, self.base, "--tree", name)

    def problem(self, name, board, rows):
        """What else is wrong."""
        return None


class Mount(Command):
    """Answers of a mount."""

    def __init__(self, binary, base, directory):
        super().__init__(binary, base)
        self.directory = directory

    def __enter__(self):
        subprocess.run([self.binary, "mount", "-o", "ro", self.base, self.directory], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run([self.binary, "umount", self.directory], check=True)

    def games(self, name):
        names = sorted((self.directory / "fen" / name / "games").iterdir())
        return [str(int(game.stem)) for game in names]

    def table(self, name):
        return (self.directory / "fen" / name / "moves.tsv").read_text().splitlines()

    def problem(self, name, board, rows):
        place = self.directory / "fen" / name
        links = {link.name: str(link.readlink()) for link in place.iterdir() if link.is_symlink()}
        expected = {}
        for row in rows:
            after = board.copy(stack=False)
            after.push(board.parse_san(row["san"]))
            if not after.status() & IRREGULAR:
                expected[row["san"]] = "../" + name_of(after)
        if links != expected:
            return f"{name}: links {links} are {expected}"
        game = chess.pgn.read_game(io.StringIO((place / "line.pgn").read_text()))
        if key(game.end().board()) != key(board):
            return f"{name}: line.pgn leads to {game.end().board().fen()}"
        return None

    def judge_results(self, games):
        """What is wrong about the games of each result, and what they played at the start."""
        for term, result in [("1-0", "1-0"), ("0-1", "0-1"), ("draw", "1/2-1/2")]:
            fitting = [game for game in games if game.result == result]
            place = self.directory / "find" / f"result:{term}"
            count = int((place / "count").read_text())
            listed = sorted(int(game.stem) for game in (place / "games").iterdir())
            if count != len(fitting) or listed != [game.number for game in fitting]:
                yield f"{place}: {count} games, {listed[:5]}… are {len(fitting)}"
            start = key(chess.Board())
            lines = (place / "tree" / "moves.tsv").read_text().splitlines()[1:]
            played = sum(int(line.split("\t")[2]) for line in lines)
            expected = sum(plays_from(game, start) for game in fitting)
            if played != expected:
                yield f"{place}/tree: {played} games went on, {expected} are"


def judge_position(answers, board, games, moves):
    """What is wrong about one position."""
    fen = name = name_of(board)
    expected = [str(number) for number in sorted(games)]
    found = answers.games(name)
    if found != expected:
        return f"{fen}: games {found[:5]}… are {expected[:5]}… ({len(found)}, {len(expected)})"
    first, *lines = answers.table(name)
    rows = [dict(zip(first.split("\t"), line.split("\t"))) for line in lines]
    rows = [{name: row.get(name) for name in JUDGED} for row in rows]
    expected = sorted(moves, key=lambda row: (-int(row["games"]), row["san"]))
    if rows != expected:
        return f"{fen}: moves {rows} are {expected}"
    return answers.problem(name, board, expected)


def plays_from(game, position):
    """Whether a game goes on from a position that it reaches."""
    return next((move is not None for at, _, move in game.positions() if at == position), False)


def expectations(games):
    """By position: an example, the games that reach it, and what they played."""
    reached = defaultdict(set)
    played = defaultdict(lambda: defaultdict(Played))
    examples = {}
    for game in games:
        for at, board, move in game.positions():
            if game.number in reached[at]:
                continue
            reached[at].add(game.number)
            examples.setdefault(at, board.copy(stack=False))
            if move is not None:
                played[at][move].games.append(game)
    return examples, reached, played


def rows_of(board, moves, reached):
    """The table that a position must have."""
    for move, played in moves.items():
        after = board.copy(stack=False)
        after.push(move)
        san = board.san(move).rstrip("+#") if move else "--"
        yield played.row(san, uci(board, move), int(board.turn), len(reached[key(after)]))


def judge(answers, most, seed):
    """How many positions were judged, and what is wrong."""
    binary, base = answers.binary, answers.base
    text = subprocess.run([binary, "export", base], capture_output=True, check=True).stdout
    texts = [game.decode() if isinstance(game, bytes) else game for game in split_games(text)]
    numbers = list(numbers_of_games(base))
    if len(numbers) != len(texts):
        return 0, [f"{len(texts)} games were exported, {len(numbers)} are there"]
    games = [Game(*pair) for pair in zip(numbers, texts)]
    examples, reached, played = expectations(games)
    asked = [at for at, board in examples.items() if not board.status() & IRREGULAR]
    if len(asked) > most:
        asked = random.Random(seed).sample(asked, most)
    with ThreadPoolExecutor(2) as pool:
        tasks = []
        for at in asked:
            board = examples[at]
            rows = list(rows_of(board, played[at], reached))
            tasks.append(pool.submit(judge_position, answers, board, reached[at], rows))
        problems = [task.result() for task in tasks]
    if isinstance(answers, Mount):
        problems += answers.judge_results(games)
    return len(asked), [problem for problem in problems if problem]


def main():
    """Judge, and exit 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("bases", type=Path, nargs="+")
    parser.add_argument("--positions", type=int, default=300, help="judge so many of each base")
    parser.add_argument("--seed", default="cbfs")
    parser.add_argument("--mount", type=Path, metavar="DIRECTORY", help="judge a mount there")
    arguments = parser.parse_args()
    verdict = 0
    for base in arguments.bases:
        binary = arguments.binary.resolve()
        if arguments.mount:
            with Mount(binary, base, arguments.mount) as answers:
                count, problems = judge(answers, arguments.positions, arguments.seed)
        else:
            count, problems = judge(Command(binary, base), arguments.positions, arguments.seed)
        print(f"{base.name}: {count} positions judged, {len(problems)} problems")
        for problem in problems[:SHOWN]:
            print(f"  {problem}")
        verdict |= bool(problems)
    sys.exit(verdict)


if __name__ == "__main__":
    main()
