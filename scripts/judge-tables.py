#!/usr/bin/env python3
"""DuckDB, Polars, Spark and python-chess judge the tables of `cbfs export --format parquet`.

    judge-tables.py BINARY BASE… [--engines duckdb,polars,spark]

The questions of docs/data.md are asked of each engine, and of python-chess, which reads the exported PGN; all answers must be the same, and where
`cbfs find` can say it, it must agree. A base of games with evaluations and clocks is made for the questions about these. Needs the packages chess, duckdb,
polars and, with Java, pyspark; see scripts/test and scripts/test-tables.
"""

import argparse
import ctypes
import io
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from math import floor
from pathlib import Path

import chess
import chess.engine
import chess.pgn
import chess.polyglot

PAGE = Path(__file__).resolve().parent.parent / "docs" / "data.md"
SCORE = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}


def questions():
    """The questions of the page: title and SQL."""
    found = re.findall(r"\n([^\n]+)\n\n```sql\n(.*?)```", PAGE.read_text(), re.S)
    assert len(found) == 10, [title for title, _ in found]
    # Moves are written by an encoder of our own.
    return [*found, ("Moves", "SELECT number, moves_uci FROM games ORDER BY number")]


# What an answer of an engine is compared as.
def value(cell):
    if isinstance(cell, bool) or cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, (list, tuple)):
        return tuple(cell)
    return round(float(cell), 6)


def plain(rows):
    return [tuple(value(cell) for cell in row) for row in rows]


def ask_duckdb(folder, sqls):
    import duckdb

    engine = duckdb.connect()
    for table in "games", "positions":
        engine.execute(f"CREATE VIEW {table} AS FROM read_parquet('{folder}/{table}/*/*.parquet', hive_partitioning = true)")
    return [plain(engine.execute(sql).fetchall()) for sql in sqls]


def ask_polars(folder, sqls):
    import polars as pl

    engine = pl.SQLContext({table: pl.scan_parquet(f"{folder}/{table}/**/*.parquet", hive_partitioning=True) for table in ("games", "positions")})
    return [plain(engine.execute(sql, eager=True).rows()) for sql in sqls]


def ask_spark(folder, sqls):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for table in "games", "positions":
        spark.read.parquet(f"{folder}/{table}").createOrReplaceTempView(table)
    return [plain(spark.sql(sql).collect()) for sql in sqls]


ENGINES = {"duckdb": ask_duckdb, "polars": ask_polars, "spark": ask_spark}


class Game:
    """One game, as python-chess reads it."""

    def __init__(self, number, game):
        tags = game.headers
        self.number, self.result = number, tags.get("Result")
        # python-chess leaves the escapes of a value as they are.
        texts = (re.sub(r"\\(.)", r"\1", tags.get(name, "")) for name in ("White", "Black", "ECO"))
        self.white, self.black, self.eco = (None if text in ("", "?") else text for text in texts)
        elo = [tags.get(name) for name in ("WhiteElo", "BlackElo")]
        self.difference = int(elo[0]) - int(elo[1]) if all(elo) else None
        year = tags.get("Date", "????")[:4]
        self.year = int(year) if year.isdigit() else None
        self.uci = tuple(move.uci() for move in game.mainline_moves())
        self.moves, self.hashes, self.evaluations, self.clocks = [], [key(game.board())], [None], []
        for node in game.mainline():
            self.moves.append(node.san())
            self.hashes.append(key(node.board()))
            score = node.eval()
            self.evaluations.append(score.white().score() if score else None)
            self.clocks.append(node.clock())


def key(board):
    return ctypes.c_int64(chess.polyglot.zobrist_hash(board)).value


def read_games(binary, base):
    """The games of a base, with the numbers that `cbfs find` tells."""
    numbers = run(binary, "find", base, "--numbers").split()
    text = io.StringIO(run(binary, "export", base))
    return [Game(int(number), chess.pgn.read_game(text)) for number in numbers]


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def mean(values):
    return sum(values) / len(values)


def expected(games):
    """The answers to all questions, in their order."""
    decided = [game for game in games if game.result != "*"]
    openings = defaultdict(list)
    for game in decided:
        if game.white == "Kasparov, Garry" and game.moves:
            openings[game.moves[0]].append(SCORE[game.result])
    yield sorted(((san, len(all), mean(all)) for san, all in openings.items()), key=lambda row: (-row[1], row[0]))
    codes = Counter((game.year, game.eco[0]) for game in games if game.eco and game.year)
    yield sorted((*row, count) for row, count in codes.items())
    rated = defaultdict(list)
    for game in decided:
        if game.difference is not None:
            rated[floor(game.difference / 100)].append(SCORE[game.result])
    yield sorted((hundreds, len(all), mean(all)) for hundreds, all in rated.items())
    short = [(game.number, [clock for clock in game.clocks if clock is not None and clock < 30]) for game in games]
    yield sorted(((number, len(all), min(all)) for number, all in short if all), key=lambda row: (-row[1], row[0]))[:10]
    longest = sorted(games, key=lambda game: (-len(game.moves), game.number))[:10]
    yield [(game.number, game.white, game.black, len(game.moves)) for game in longest]
    yield [
        (game.number, ply, san, before, after)
        for game in sorted(games, key=lambda game: game.number)
        for ply, (san, before, after) in enumerate(zip(game.moves, game.evaluations, game.evaluations[1:]), 1)
        if before is not None and after is not None and abs(after - before) >= 200
    ]
    results = Counter((game.year, game.result) for game in games if game.year)
    yield sorted((*row, count) for row, count in results.items())
    board = chess.Board()
    board.push_san("e4")
    board.push_san("c5")
    yield [(sum(key(board) in game.hashes for game in games),)]
    wins = [game for game in games if 2 <= len(game.moves) <= 40 and game.result in ("1-0", "0-1")]
    wins.sort(key=lambda game: (len(game.moves), game.number))
    yield [(game.number, game.white, game.black, game.eco, len(game.moves)) for game in wins[:20]]
    names = Counter(name for game in games for name in (game.white, game.black) if name)
    yield sorted(names.items(), key=lambda row: (-row[1], row[0]))[:20]
    yield sorted((game.number, game.uci) for game in games)


def found_by_cbfs(binary, base, games):
    """What `cbfs find` counts for the second, seventh and eighth question."""
    count = lambda *terms: int(run(binary, "find", base, "--count", *terms).split()[0])
    years = sorted({game.year for game in games if game.year})[-4:]
    for year in years:
        yield (1, (year, "B"), count(f"year:{year}", "eco:B*"))
        yield (6, (year, "1/2-1/2"), count(f"year:{year}", "result:draw"))
    yield (7, (), count("position:rnbqkbnr:pp1ppppp:8:2p5:4P3:8:PPPP1PPP:RNBQKBNR_w_KQkq_-"))


def with_clocks(binary, folder):
    """A base of games with evaluations, clocks and remarks in the style of lichess."""
    draw = random.Random(20)
    texts = []
    for number in range(300):
        board, game = chess.Board(), chess.pgn.Game()
        game.headers.update(
            Event="Rated Blitz game", Site=f"https://lichess.org/{number:08}", Date=f"20{number % 20:02}.0{number % 9 + 1}.01", Round="-",
            White=draw.choice(["Kasparov, Garry", "Müller, Käthe", 'The "Rook"']), Black=draw.choice(["b", "c\\d"]),
            Result=draw.choice(["1-0", "0-1", "1/2-1/2", "*"]), WhiteElo=str(draw.randrange(1000, 2800)), BlackElo=str(draw.randrange(1000, 2800)),
            UTCDate="2020.01.02", UTCTime="12:34:56", WhiteRatingDiff="+7", BlackRatingDiff="-7", TimeControl="180+0", Termination="Normal",
        )  # fmt: skip
        node, left = game, [180, 180]
        for ply in range(draw.randrange(0, 90)):
            moves = sorted(board.legal_moves, key=chess.Move.uci)
            if not moves:
                break
            move = draw.choice(moves)
            board.push(move)
            node = node.add_main_variation(move)
            left[ply % 2] = max(0, left[ply % 2] - draw.randrange(0, 9))
            node.set_clock(left[ply % 2])
            if draw.random() < 0.9:
                score = chess.engine.Cp(draw.randrange(-400, 400)) if draw.random() < 0.95 else chess.engine.Mate(draw.choice([-3, 2]))
                node.set_eval(chess.engine.PovScore(score, chess.WHITE))
            if draw.random() < 0.1:
                node.comment += " a remark"
        texts.append(str(game))
    pgn, base = folder / "clocks.pgn", folder / "clocks.cbh"
    pgn.write_text("\n\n".join(texts) + "\n")
    run(binary, "import", "--create", base, pgn)
    return base


def judge(binary, base, engines, scratch):
    """The number of wrong answers."""
    folder = scratch / f"{base.stem}.tables"
    run(binary, "export", "--format", "parquet", "--positions", base, "-o", folder)
    games = read_games(binary, base)
    titles, sqls = zip(*questions())
    right = [plain(rows) for rows in expected(games)]
    wrong = 0
    for engine in engines:
        for title, answer, known in zip(titles, ENGINES[engine](folder, sqls), right):
            if answer != known:
                wrong += 1
                print(f"{base.name}: {engine}: {title}\n  said  {answer[:5]}\n  known {known[:5]}")
    for question, row, count in found_by_cbfs(binary, base, games):
        told = next((known[-1] for known in right[question] if known[: len(row)] == plain([row])[0]), 0)
        if told != count:
            wrong += 1
            print(f"{base.name}: cbfs find: {titles[question]} {row}: said {count}, known {told}")
    filled = sum(bool(rows) for rows in right)
    print(f"{base.name}: {len(games)} games, {len(engines)} engines, {len(titles)} questions ({filled} with an answer), {wrong} wrong")
    return wrong


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("binary")
    arguments.add_argument("bases", nargs="+", type=Path)
    arguments.add_argument("--engines", default="duckdb,polars,spark")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        bases = [*given.bases, with_clocks(given.binary, scratch)]
        sys.exit(any([judge(given.binary, base, given.engines.split(","), scratch) for base in bases]))


if __name__ == "__main__":
    main()
