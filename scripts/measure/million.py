"""What a large base costs: a million games of a hundred thousand players.

Cold is the first command in a fresh mount that has an empty cache folder; the files of the base have been read before.

The size of all.pgn is exact, so whoever looks at it first waits until the length of every game is known; later mounts
know them. What it gives then is held against what decoding and rendering the same games takes in memory, on all cores,
with no file, pipe or kernel in between (benches/whole.rs). Each round measures both, one after the other, and its ratio
is theirs alone, so that a machine whose speed varies does not decide; the median ratio counts.
"""

import os
import re
import shlex
import shutil
import statistics

from .mounts import ROOT, WORK, build, forget, milliseconds_to_start, mount_cbfs, run

GAMES, PLAYERS = 1_000_000, 100_000
ROUNDS = 3
PLAYERS_ASKED_FOR = 100
CACHE_MIB = 64  # what --cache-size is when it is not given
LIST_LIMIT_S, FIRST_PLAYER_LIMIT_MS, NEXT_PLAYER_LIMIT_MS, COUNT_LIMIT_S = 1, 500, 10, 3
LEAST_SHARE_OF_MEMORY_RATE = 80
RESIDENT_LIMIT_MIB = 64 + CACHE_MIB
PLAYERS_FOLDER, HEADERS, ALL_GAMES = "players/", "headers.tsv", "pgn/all.pgn"
LIST_PLAYERS = f"ls {PLAYERS_FOLDER} >/dev/null"
COUNT_LINES = f"wc -l {HEADERS} >/dev/null"
ASK_HEADERS = rf"""awk -F'\t' '$4 >= 2600 && $6 == "0-1"' {HEADERS} >/dev/null"""
MEASURE_ALL = f"stat {ALL_GAMES} >/dev/null"
READ_ALL = f"cat {ALL_GAMES} >/dev/null"
# Compiled as cbfs is.
IN_MEMORY = "cargo bench --quiet --locked --profile release --bench whole".split()


def large_base(base):
    """The base multiplied, made once for each base; `target/bench/million` can be removed to make it anew."""
    folder = WORK / "million" / base.stem
    if not folder.exists():
        half_made = folder.with_name(f"{base.stem}.part")
        shutil.rmtree(half_made, ignore_errors=True)
        half_made.mkdir(parents=True)
        run(ROOT / "scripts/multiply", base, half_made / "million.cbh", "--games", GAMES, "--players", PLAYERS)
        half_made.rename(folder)
    return folder / "million.cbh"


def prepare(base):
    """Build both programs, and make the base."""
    build()
    run(*IN_MEMORY, "--no-run", cwd=ROOT)
    large_base(base)


class Report:
    """Lines of a table as they come, and how many were not as they should be."""

    def __init__(self):
        self.failures = 0
        print(f"{'':52}{'measured':>20}{'limit':>20}")

    def line(self, what, figure, unit, limit=None, at_least=False):
        """One figure beside its limit, if it has one."""
        is_bad = limit is not None and (figure < limit if at_least else figure > limit)
        self.failures += is_bad
        spelled = f"{figure:,.0f} {unit}" if figure >= 1000 else f"{figure:.2f} {unit}"
        beside = "" if limit is None else f"{'at least' if at_least else 'at most'} {limit} {unit}"
        print(f"{what:52}{spelled:>20}{beside:>20}{'   MISSED' if is_bad else ''}", flush=True)

    def not_there(self, name):
        """Something that cannot be measured."""
        self.failures += 1
        print(f"{name}: not there", flush=True)


def fresh_mount(base):
    """A mount that remembers nothing of an earlier one."""
    forget()
    return mount_cbfs(base)


def missing_parts(base):
    """Which directories and files the mount has not. A look of its own, since the first look is what is measured."""
    with fresh_mount(base) as mount:
        return [name for name in (PLAYERS_FOLDER, HEADERS, ALL_GAMES) if not (mount.directory / name).exists()]


def list_players(base, report):
    """Measure the list of all players, and the first and the later lists of one player's games."""
    with fresh_mount(base) as mount:
        taken = mount.seconds(LIST_PLAYERS)
        names = os.listdir(mount.directory / PLAYERS_FOLDER)
    report.line(f"ls players/, {len(names):,} of them, cold", taken, "s", LIST_LIMIT_S)
    with fresh_mount(base) as mount:
        first, *later = (mount.seconds(command) * 1e3 for command in list_games_of(names))
    report.line("ls players/X/, cold", first, "ms", FIRST_PLAYER_LIMIT_MS)
    what = f"ls players/Y/ after that, {len(later)} others, median"
    report.line(what, statistics.median(later), "ms", NEXT_PLAYER_LIMIT_MS)


def list_games_of(names):
    """The commands that list the games of some players, from all over the names."""
    chosen = names[:: max(1, len(names) // (PLAYERS_ASKED_FOR + 1))][: PLAYERS_ASKED_FOR + 1]
    return [f"ls {shlex.quote(f'{PLAYERS_FOLDER}{name}/')} >/dev/null" for name in chosen]


def read_headers(base, report):
    """Measure a look at all headers, and one more."""
    with fresh_mount(base) as mount:
        report.line("wc -l headers.tsv, cold", mount.seconds(COUNT_LINES), "s", COUNT_LIMIT_S)
        report.line("awk over headers.tsv after that", mount.seconds(ASK_HEADERS), "s")


def games_per_second_in_memory(base):
    """What decoding and rendering can do at best."""
    output = run(*IN_MEMORY, "--", base, cwd=ROOT, capture_output=True, text=True).stdout
    return int(re.search(r"^(\d+) games/s$", output, re.MULTILINE)[1])


def read_all_games(base, report):
    """Measure one PGN of all games against the same work in memory."""
    rates = []
    for _ in range(ROUNDS):
        in_memory = games_per_second_in_memory(base)
        with fresh_mount(base) as mount:
            measured = mount.seconds(MEASURE_ALL)
            rates.append((GAMES / mount.seconds(READ_ALL), in_memory, measured))
    mounted, in_memory, measured = map(statistics.median, zip(*rates))
    report.line("decoded and rendered in memory, all cores", in_memory, "games/s")
    report.line("stat pgn/all.pgn, cold: all lengths found out", measured, "s")
    report.line("cat pgn/all.pgn after that", mounted, "games/s")
    share = statistics.median(mine / other for mine, other, _ in rates) * 100
    report.line("cat pgn/all.pgn of that in memory", share, "%", LEAST_SHARE_OF_MEMORY_RATE, at_least=True)


def report_start(base, report):
    """How long the first mount takes until it can be used."""
    least, median = milliseconds_to_start(base, ROUNDS, before=forget)
    report.line("mount usable, cold, least", least, "ms")
    report.line("mount usable, cold, median", median, "ms")


def report_memory(base, report, missing):
    """Memory of one daemon after all that there is of the above."""
    commands = {PLAYERS_FOLDER: [LIST_PLAYERS], HEADERS: [COUNT_LINES, ASK_HEADERS], ALL_GAMES: [READ_ALL]}
    done = [name for name in commands if name not in missing]
    with fresh_mount(base) as mount:
        for name in done:
            for command in commands[name]:
                mount.seconds(command)
        if PLAYERS_FOLDER in done:
            for command in list_games_of(os.listdir(mount.directory / PLAYERS_FOLDER)):
                mount.seconds(command)
        memory = mount.memory()
    print(f"memory of one daemon after {' and '.join(done) or 'nothing'}")
    report.line("resident at the highest", memory["VmHWM"], "MiB", RESIDENT_LIMIT_MIB)
    report.line("resident now, its own", memory["RssAnon"], "MiB", RESIDENT_LIMIT_MIB)


def measure(base):
    """Measure and tell; returns whether everything was there and kept its limit."""
    multiplied = large_base(base)
    print(f"{base.name} multiplied to {GAMES:,} games and {PLAYERS:,} players, {multiplied}")
    report = Report()
    report_start(multiplied, report)
    missing = missing_parts(multiplied)
    for name, part in ((PLAYERS_FOLDER, list_players), (HEADERS, read_headers), (ALL_GAMES, read_all_games)):
        if name in missing:
            report.not_there(name)
        else:
            part(multiplied, report)
    report_memory(multiplied, report, missing)
    return report.failures == 0
