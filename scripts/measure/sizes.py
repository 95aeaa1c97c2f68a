"""What grows with a base: the same questions of ten thousand, a hundred thousand, a million and ten million games.

Each base is one multiplied (`scripts/multiply`), with a player for each 33 games and a tournament for each 333. Beside it in
the same run stands the rod with as many files that it makes up: the one without opens beside `-o ro`, the one with opens
beside the default. A random game is one that is opened, read and closed, the next after it; four readers do so at once.
Files of the base have been read before, so they are in memory as far as it holds them. Ten million games need 8 GB.

CBFS_BENCH_SIZES names other numbers of games.
"""

import json
import os
import random
import shlex
import shutil
import statistics
import subprocess
import time

from . import rod
from .million import Report
from .mounts import CACHE, CBFS, ROOT, SHARED, WORK, Mount, build, forget, milliseconds_to_start, mount_cbfs, run
from .saves import closes, with_tag

SIZES = [int(size) for size in os.environ.get("CBFS_BENCH_SIZES", "10000 100000 1000000 10000000").split()]
TEN_MILLION = 10_000_000
ROUNDS = 3
READS = 20_000
READER = WORK / "rnd"
FIRST_NAME = "import os,sys; next(os.scandir(sys.argv[1]))"
ALL_NAMES = "ls -f {} >/dev/null"
SAVES, PLAYERS_ASKED_FOR, NEW_GAMES = 200, 50, 5
USABLE_MS, FIRST_NAME_MS, NAMES_RATIO, READ_RATIO, READERS_RATIO = 50, 20, 1.5, 1.5, 1.7
FIRST_PLAYER_S, NEXT_PLAYER_MS, ROWS_PER_S, ANON_MIB, CHECK_S, NEW_GAME_RATIO = 1, 20, 2_000_000, 128, 45, 2
# So many records are looked at in the background each second after a mount, on a slow machine.
RECORDS_PER_S = 2_000_000
ROD_WITH_OPENS = [option for option in rod.ROD_OPTIONS if option not in ("--noopen", "--noopendir")]


def sized_base(base, games):
    """The base with so many games, made once."""
    folder = WORK / "sizes" / f"{base.stem}-{games}"
    if not folder.exists():
        half_made = folder.with_name(f"{base.stem}.part")
        shutil.rmtree(half_made, ignore_errors=True)
        half_made.mkdir(parents=True)
        names = ["--players", max(games // 33, 6000), "--tournaments", max(games // 333, 600)]
        run(ROOT / "scripts/multiply", base, half_made / "sized.cbh", "--games", games, *names)
        half_made.rename(folder)
    return folder / "sized.cbh"


def prepare(base):
    """Build cbfs, the rod and the reader, and make the bases."""
    rod.prepare(base)
    run("cc", "-O2", "-pthread", SHARED / "rods/ceiling/tools/rnd.c", "-o", READER)
    for games in SIZES:
        sized_base(base, games)
    # What is still being written to the medium would be measured too.
    os.sync()
    build()


def mount_rod(games, options):
    """The rod with so many files."""
    return Mount([rod.ROD, None, "--flat", games, *options])


def mount_to_write(base):
    """cbfs in the foreground, with the default profile."""
    return Mount(["env", f"XDG_CACHE_HOME={CACHE}", f"XDG_STATE_HOME={CACHE}", CBFS, "mount", "-f", base, None])


def read_games(directory, width, games, readers=1, seed=1):
    """Games a second, and microseconds a game: the median, and what 99 of 100 stay below."""
    command = [READER, directory, width, games, READS, readers, seed]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    return told["ops_s"], told["p50_us"], told["p99_us"]


class Sized:
    """The measurements of one size."""

    def __init__(self, base, games, report):
        self.base, self.games, self.report = base, games, report

    def into_memory(self):
        """Read the files: the rod beside has none, so a disk would be measured too."""
        for file in sorted(self.base.parent.iterdir()):
            with file.open("rb", buffering=0) as opened:
                while opened.read(1 << 24):
                    pass

    def start(self):
        """Until the mount is usable, and the first name."""
        _, median = milliseconds_to_start(self.base, ROUNDS, before=forget)
        self.report.line("mount usable", median, "ms", USABLE_MS)
        forget()
        with mount_cbfs(self.base) as mount:
            start = time.perf_counter()
            next(os.scandir(mount.directory / "games"))
            self.report.line("first name of games/", (time.perf_counter() - start) * 1e3, "ms", FIRST_NAME_MS)

    def names(self):
        """All names, beside the rod."""
        ratios = []
        for _ in range(ROUNDS):
            forget()
            with mount_cbfs(self.base) as mount:
                mine = mount.seconds(ALL_NAMES.format("games/"))
            with mount_rod(self.games, rod.ROD_OPTIONS) as other:
                others = other.seconds(ALL_NAMES.format("flat/"))
            ratios.append((mine / others, mine))
        ratio, taken = sorted(ratios)[len(ratios) // 2]
        self.report.line("all names of games/", taken, "s")
        self.report.line("  of the rod", ratio, "", NAMES_RATIO)

    def reads(self, what, profile, options, prepare=lambda mount: None):
        """Random games, beside the rod."""
        taken = []
        for round_number in range(ROUNDS):
            forget()
            with profile(self.base) as mount:
                prepare(mount)
                mine = read_games(mount.directory / "games", 6, self.games, seed=round_number + 1)
            # Not beside the mount: while that finds out lengths, the rod takes another time.
            with mount_rod(self.games, options) as other:
                others = read_games(other.directory / "flat", 7, self.games, seed=round_number + 1)
            taken.append((mine[1], mine[1] / others[1], mine[2] / others[2]))
        p50, ratio_50, ratio_99 = (statistics.median(column) for column in zip(*taken))
        self.report.line(f"a random game, {what}, p50", p50, "µs")
        self.report.line("  of the rod, p50", ratio_50, "", READ_RATIO)
        self.report.line("  of the rod, p99", ratio_99, "", READ_RATIO)

    def readers(self):
        """Four readers, and one."""
        ratios = []
        for round_number in range(ROUNDS):
            with mount_cbfs(self.base) as mount:
                one, _, _ = read_games(mount.directory / "games", 6, self.games, seed=10 + round_number)
                four, _, _ = read_games(mount.directory / "games", 6, self.games, 4, seed=20 + round_number)
                ratios.append(four / one)
        self.report.line("four readers of one", statistics.median(ratios), "", READERS_RATIO, at_least=True)

    def everything(self):
        """Players, headers, all games in one file; and the memory after it."""
        forget()
        with mount_cbfs(self.base) as mount:
            taken = mount.seconds("ls players/ >/dev/null")
            self.report.line("ls players/", taken, "s")
            names = sorted(os.listdir(mount.directory / "players"))
            asked = [f"ls players/{shlex.quote(name)}/ >/dev/null" for name in random.Random(2).sample(names, PLAYERS_ASKED_FOR)]
        forget()
        with mount_cbfs(self.base) as mount:
            first, *later = (mount.seconds(command) for command in asked)
            self.report.line("ls players/X/, the first", first, "s", FIRST_PLAYER_S)
            self.report.line("ls players/X/, the next", statistics.median(later) * 1e3, "ms", NEXT_PLAYER_MS)
            taken = mount.seconds("cat headers.tsv >/dev/null")
            self.report.line("headers.tsv", self.games / taken, "rows/s", ROWS_PER_S, at_least=True)
            mount.seconds("ls -f games/ >/dev/null")
            read_games(mount.directory / "games", 6, self.games)
            self.report.line("stat pgn/all.pgn, all lengths found out", mount.seconds("stat pgn/all.pgn >/dev/null"), "s")
            self.report.line("cat pgn/all.pgn", self.games / mount.seconds("cat pgn/all.pgn >/dev/null"), "games/s")
            self.report.line("resident after all of it, its own", mount.memory()["RssAnon"], "MiB", ANON_MIB)

    def check(self):
        """`cbfs check`."""
        start = time.perf_counter()
        run(CBFS, "check", "--quiet", self.base, stdout=subprocess.DEVNULL)
        self.report.line("cbfs check", time.perf_counter() - start, "s", max(CHECK_S * self.games / TEN_MILLION, 0.1))

    def saves(self, of_smallest):
        """Closing a saved game, and the first new game of a mount, in a copy of the base; returns the latter."""
        place = WORK / "sizes/saved"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.base.parent, place)
        with mount_to_write(place / self.base.name) as mount:
            ids = random.Random(3).sample(range(1, self.games), SAVES)
            taken = closes(mount.directory / "games", ids, lambda text, number: with_tag(text, "Round", number % 97 + 1))
        self.report.line("close of a saved game", statistics.median(taken), "ms")
        first = statistics.median(self.first_new_game(place / self.base.name, number) for number in range(NEW_GAMES))
        self.report.line("the first new game of a mount, with a new player", first, "ms")
        self.report.line("  of that of the smallest base", first / (of_smallest or first), "", NEW_GAME_RATIO)
        shutil.rmtree(place)
        return of_smallest or first

    def first_new_game(self, base, number):
        """Milliseconds that it takes once the records were looked at in the background."""
        with mount_to_write(base) as mount:
            games = mount.directory / "games"
            text = with_tag((games / "000001.pgn").read_text(), "White", f"Newcomer, N{number}")
            time.sleep(2 + self.games / RECORDS_PER_S)
            start = time.perf_counter()
            (games / f"new-{number}.pgn").write_text(text)
            return (time.perf_counter() - start) * 1e3


def measure(base):
    """Measure and tell; returns whether all limits were kept."""
    report = Report()
    of_smallest = None
    for games in SIZES:
        sized = Sized(sized_base(base, games), games, report)
        print(f"{games:,} games")
        sized.into_memory()
        sized.start()
        sized.names()
        sized.reads("-o ro", mount_cbfs, rod.ROD_OPTIONS)
        sized.reads("as by default", mount_to_write, ROD_WITH_OPENS)
        sized.readers()
        sized.everything()
        sized.check()
        of_smallest = sized.saves(of_smallest)
    return report.failures == 0
