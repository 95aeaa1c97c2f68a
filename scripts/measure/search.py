"""What a search through a large base costs: the index of positions, and questions with and without it.

The base is one multiplied (`scripts/multiply`), whose games were given moves of their own by `benches/varied.rs`: the first
6 to 30 plies of a game stay, the rest are legal moves drawn by a seeded choice, so positions are as various as in games
that were all played. CBFS_BENCH_GAMES says how many games it has, a million if it is not set; limits of time are those of
ten million games, in proportion. Ten million need 4 GB, and for a while 12 GB more.

Positions are those at random plies of random games, by a seeded choice, and those of the first three plies, asked for
in a mount whose index has been looked at before. Other questions are one run of `cbfs find`, start of the program
included. Files have been read before, so they are in memory as far as it holds them. Beside it stands what `grep -l`
needs for the same questions in `pgn/years/` of a mount, and Scid, if `tkscid` is there, in its own base of the same games.
"""

import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from .million import Report
from .mounts import CBFS, ROOT, WORK, build, run

ASKED = 200
GAMES = int(os.environ.get("CBFS_BENCH_GAMES", "1000000"))
SHARE = GAMES / 10_000_000
BUILD_LIMIT_S, BUILD_LIMIT_MIB, SIZE_LIMIT, MASKS_LIMIT = 180, 512, 300, 110
RANDOM_P50_MS, RANDOM_P99_MS, FIRST_PLIES_MS = 5, 50, 20
HEADERS_LIMIT_S, MASKS_LIMIT_S, SCAN_LIMIT_S, POSITION_LIMIT_S = 0.5, 2, 10, 20
CACHES = WORK / "search"
HEADER_TERMS = ["white:Carlsen", "year:2010-", "result:1-0"]
MOMENTS = [["material:KRPKR"], ["squares:Nd5,pd6,-e4"]]
FIRST_PLIES = ["", "e4", "d4", "e4 c5", "e4 e5", "d4 Nf6", "e4 c5 Nf3", "d4 Nf6 c4", "e4 e5 Nf3"]
VARY = "cargo bench --quiet --locked --profile release --bench varied --".split()
SCID = """
set start [clock milliseconds]
set base [sc_base create SCID4 {folder}/games]
sc_base import $base {folder}/games.pgn
puts "scid: import of the games|[expr {{[clock milliseconds] - $start}}]"
proc progressCallBack {{args}} {{}}
set start [clock milliseconds]
sc_search material -wq {{0 0}} -bq {{0 0}} -wr {{1 1}} -br {{1 1}} -wb {{0 0}} -bb {{0 0}} -wn {{0 0}} -bn {{0 0}} \
    -wp {{1 1}} -bp {{0 0}} -flip 1 -length 1
puts "scid: material KRPKR|[expr {{[clock milliseconds] - $start}}]"
exit
"""


def varied_base(base):
    """The base multiplied and varied, made once for each base and number of games."""
    folder = WORK / "varied" / f"{base.stem}-{GAMES}"
    if not folder.exists():
        half_made = folder.with_name(f"{base.stem}.part")
        shutil.rmtree(half_made, ignore_errors=True)
        half_made.mkdir(parents=True)
        run(ROOT / "scripts/multiply", base, half_made / "varied.cbh", "--games", GAMES, "--players", 100_000)
        run(*VARY, half_made / "varied.cbh", cwd=ROOT)
        half_made.rename(folder)
    return folder / "varied.cbh"


def prepare(base):
    """Build cbfs, and make the base."""
    build()
    varied_base(base)


def environment():
    """Where the index lies."""
    return os.environ | {"XDG_CACHE_HOME": str(CACHES)}


def cbfs(*arguments):
    """One run: what it printed, seconds, and the most memory it had, in MiB."""
    command = [CBFS, *map(str, arguments)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(), text=True)
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {command} ended with {process.returncode}")
    return printed, time.perf_counter() - start, usage.ru_maxrss / 1024


def random_lines(base, games, count):
    """The first moves of random games, up to a random ply."""
    choice = random.Random(16)
    numbers = "|".join(map(str, sorted(choice.sample(range(1, games + 1), count))))
    text, _, _ = cbfs("find", "--quiet", base, f"number:{numbers}", "--pgn")
    lines = []
    for game in re.split(r"\n(?=\[Event )", text):
        moves = re.sub(r"^\[.*\]$|\{[^}]*\}|\([^)]*\)", "", game, flags=re.MULTILINE)
        moves = re.findall(r"(?<![^\s(])(?:[KQRBN]?[a-h1-8]?x?[a-h][1-8](?:=[QRBN])?|O-O(?:-O)?)[+#]?", moves)
        lines.append(moves[: choice.randrange(len(moves) + 1)])
    return lines


class Mounted:
    """A mount, in a directory of its own."""

    def __init__(self, base):
        self.directory = CACHES / "mount"
        self.directory.mkdir(parents=True, exist_ok=True)
        command = [CBFS, "mount", "-f", "-o", "ro", base, self.directory]
        self.process = subprocess.Popen(command, env=environment())
        while not os.path.ismount(self.directory):
            time.sleep(0.05)

    def __enter__(self):
        return self.directory

    def __exit__(self, *_):
        subprocess.run(["umount", self.directory], check=True)
        self.process.wait()


def place_of(line):
    """The path of the position after these moves: `line/` takes names of at most 255 bytes, one within the other."""
    names, rest = [], list(line)
    while rest:
        names.append(" ".join(rest[:30]))
        rest = rest[30:]
    return Path("line", *names) if names else Path("tree")


def ask_positions(directory, lines, report):
    """Ask for the moves of positions in a mount."""

    def milliseconds(line):
        start = time.perf_counter()
        (directory / place_of(line) / "moves.tsv").read_text()
        return (time.perf_counter() - start) * 1e3

    milliseconds([])
    taken = sorted(map(milliseconds, lines))
    report.line(f"moves.tsv, {len(lines)} random positions, p50", statistics.median(taken), "ms", RANDOM_P50_MS)
    report.line("the same, p99", taken[int(len(taken) * 0.99)], "ms", RANDOM_P99_MS)
    taken = max(milliseconds(line.split()) for line in FIRST_PLIES[1:])
    report.line("moves.tsv up to three plies, the slowest", taken, "ms", FIRST_PLIES_MS)


def ask_moments(base, report, what, limit):
    """Ask for squares and material."""
    for terms in MOMENTS:
        taken = cbfs("find", "--quiet", base, *terms, "--count")[1]
        report.line(f"find {' '.join(terms)}, {what}", taken, "s", limit * SHARE)


def ask_others(base, directory, report):
    """The same questions, asked of `grep` and of Scid."""
    start = time.perf_counter()
    grep = ["grep", "-rl", r'^\[White "Carlsen', directory / "pgn/years"]
    subprocess.run(grep, stdout=subprocess.DEVNULL, check=False)
    report.line("grep -rl of the player in pgn/years/", time.perf_counter() - start, "s")
    scid = shutil.which("tkscid", path=f"{os.environ['PATH']}:/usr/games")
    if scid is None:
        return
    folder = CACHES / "scid"
    folder.mkdir()
    with (folder / "games.pgn").open("wb") as out:
        subprocess.run([CBFS, "export", "--quiet", base], stdout=out, check=True)
    script = folder / "ask.tcl"
    script.write_text(SCID.format(folder=folder))
    printed = subprocess.run([scid, script], capture_output=True, text=True, check=False).stdout
    for what, taken in re.findall(r"^(scid: .*)\|(\d+)$", printed, re.MULTILINE):
        report.line(what, int(taken) / 1e3, "s")


def measure(base):
    """Measure all; whether no limit was missed."""
    base = varied_base(base)
    report = Report()
    shutil.rmtree(CACHES, ignore_errors=True)
    games = int(cbfs("find", "--quiet", base, "--count")[0])
    taken = cbfs("find", "--quiet", base, "--tree", "e4", "c5")[1]
    report.line("find --tree e4 c5, without an index", taken, "s", POSITION_LIMIT_S * SHARE)
    ask_moments(base, report, "without an index", SCAN_LIMIT_S)
    _, taken, memory = cbfs("index", "--quiet", base)
    report.line(f"cbfs index, {games:,} games", taken, "s", BUILD_LIMIT_S * SHARE)
    report.line("its memory", memory, "MiB", BUILD_LIMIT_MIB)
    for end, limit in (("positions", SIZE_LIMIT), ("masks", MASKS_LIMIT)):
        size = sum(file.stat().st_size for file in CACHES.glob(f"cbfs/*.{end}"))
        report.line(f"its {end}, for each game", size / games, "bytes", limit)
    ask_moments(base, report, "with masks", MASKS_LIMIT_S)
    taken = min(cbfs("find", "--quiet", base, *HEADER_TERMS, "--count")[1] for _ in range(3))
    report.line(f"find {' '.join(HEADER_TERMS)}", taken, "s", HEADERS_LIMIT_S * SHARE)
    lines = random_lines(base, games, ASKED)
    with Mounted(base) as directory:
        ask_positions(directory, lines, report)
        ask_others(base, directory, report)
    shutil.rmtree(CACHES)
    return not report.failures
