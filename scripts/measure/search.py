"""What a search through a large base costs: the index of positions, and questions with and without it.

Positions are those at random plies of random games, by a seeded choice; a question is one run of `cbfs find`, start of
the program included. Beside it stands what `grep` needs to go through the same games as PGN. The files have been read
before, so they are in memory as far as it holds them. The base is one multiplied, so its games share their moves with
their copies: there are fewer positions, and more games reach each, than in a base of games that were all played.
"""

import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

from .million import Report, large_base
from .mounts import CBFS, WORK, build

ASKED = 100
BUILD_LIMIT_S, BUILD_LIMIT_MIB, SIZE_LIMIT = 180, 512, 300
CACHES = WORK / "search"
HEADER_TERMS = ["white:Carlsen", "year:2010-", "result:1-0"]
MATERIAL = "material:KRPKR"


def prepare(base):
    """Build cbfs, and make the base."""
    build()
    large_base(base)


def cbfs(*arguments):
    """One run: what it printed, seconds, and the most memory it had, in MiB."""
    command = [CBFS, *map(str, arguments)]
    environment = os.environ | {"XDG_CACHE_HOME": str(CACHES)}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {command} ended with {process.returncode}")
    return printed, time.perf_counter() - start, usage.ru_maxrss / 1024


def random_lines(base, games, count):
    """The first moves of random games, up to a random ply."""
    choice = random.Random(16)
    lines = []
    for number in sorted(choice.sample(range(1, games + 1), count)):
        text, _, _ = cbfs("find", "--quiet", base, f"number:{number}", "--pgn")
        moves = re.sub(r"^\[.*\]$|\{[^}]*\}|\([^)]*\)", "", text, flags=re.MULTILINE)
        moves = re.findall(r"(?<![^\s(])(?:[KQRBN]?[a-h1-8]?x?[a-h][1-8](?:=[QRBN])?|O-O(?:-O)?)[+#]?", moves)
        lines.append(moves[: choice.randrange(len(moves) + 1)])
    return lines


def ask_positions(base, lines, report):
    """Ask for the moves of positions."""
    taken = sorted(cbfs("find", "--quiet", base, "--tree", *line)[1] * 1e3 for line in lines)
    report.line(f"find --tree, {len(lines)} random positions, p50", statistics.median(taken), "ms")
    report.line("the same, p99", taken[int(len(taken) * 0.99)], "ms")
    for line in ["", "e4", "e4 c5", "e4 c5 Nf3"]:
        taken = min(cbfs("find", "--quiet", base, "--tree", *line.split())[1] for _ in range(3))
        report.line(f"find --tree {line}".rstrip(), taken * 1e3, "ms")


def measure(base):
    """Measure all; whether no limit was missed."""
    base = large_base(base)
    report = Report()
    shutil.rmtree(CACHES, ignore_errors=True)
    games = int(cbfs("find", "--quiet", base, "--count")[0])
    _, taken, _ = cbfs("find", "--quiet", base, "--tree", "e4", "c5")
    report.line("find --tree e4 c5, without an index", taken, "s")
    _, taken, memory = cbfs("index", "--quiet", base)
    report.line(f"cbfs index, {games:,} games", taken, "s", BUILD_LIMIT_S * games / 10_000_000)
    report.line("its memory", memory, "MiB", BUILD_LIMIT_MIB)
    size = sum(file.stat().st_size for file in CACHES.glob("cbfs/*.positions"))
    report.line("its file, for each game", size / games, "bytes", SIZE_LIMIT)
    ask_positions(base, random_lines(base, games, ASKED), report)
    for terms in (HEADER_TERMS, [MATERIAL]):
        taken = min(cbfs("find", "--quiet", base, *terms, "--count")[1] for _ in range(3))
        report.line(f"find {' '.join(terms)} --count", taken, "s")
    pgn = CACHES / "games.pgn"
    with pgn.open("wb") as out:
        subprocess.run([CBFS, "export", "--quiet", base], stdout=out, check=True)
    start = time.perf_counter()
    subprocess.run(["grep", "-c", r'^\[White "Carlsen', pgn], stdout=subprocess.DEVNULL, check=False)
    report.line("grep for the player in the same games as PGN", time.perf_counter() - start, "s")
    shutil.rmtree(CACHES)
    return not report.failures
