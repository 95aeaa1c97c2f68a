"""This cbfs against an older one: how long both take to export the same games.

Both run in turn, so that a machine whose speed varies does not decide: the ratio is that of a pair, and the median one
counts. On one core it is processor time that is compared, on all cores the time that passes. A base is multiplied until
a run takes long enough; whether both write the same bytes is told.
"""

import hashlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

from .mounts import CBFS, ROOT, SHARED, WORK, build, run

BASES = ["twic1134/twic1134.cbh", "linares/linares.cbh", "with-variations/WithVariations.cbh"]
TEXT_BYTES = 100_000_000
# Tags, comments, then what is no move: numbers, NAGs, results, parentheses.
NO_MOVES = re.compile(rb"^\[.*\]$|\{[^}]*\}", re.MULTILINE)
MOVE = re.compile(rb"(?<![^\s(])(?:[KQRBN]?[a-h1-8x]*[a-h][1-8]|O-O|--)")


def prepare(_base):
    """Build cbfs as it is now."""
    build()


def export(program, base, cores=None, keep=False):
    """The text of a base, or None; seconds of the processor, and seconds passed."""
    def bind():
        os.sched_setaffinity(0, cores or os.sched_getaffinity(0))

    start = time.perf_counter()
    out = subprocess.PIPE if keep else subprocess.DEVNULL
    process = subprocess.Popen([program, "export", "--quiet", base], stdout=out, preexec_fn=bind)
    text = process.stdout.read() if keep else None
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: {program} ended with {process.returncode}")
    return text, usage.ru_utime + usage.ru_stime, time.perf_counter() - start


def multiplied(base):
    """The base so often that its text is long, and how many games and plies that has."""
    text, _, _ = export(CBFS, base, keep=True)
    games = text.count(b"\n[Event ") + 1
    plies = len(MOVE.findall(NO_MOVES.sub(b"", text)))
    times = max(1, TEXT_BYTES // len(text))
    folder = WORK / "against" / base.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    large = folder / base.name
    players = ["--players", max(1000, games // 2)]
    run(ROOT / "scripts/multiply", base, large, "--games", games * times, *players, stdout=subprocess.DEVNULL)
    return large, games * times, plies * times


def tell_if_different(old, base):
    """Say it if the two write other texts: then they do not do the same."""
    sums = [hashlib.sha256(export(program, base, keep=True)[0]).digest() for program in (old, CBFS)]
    if sums[0] != sums[1]:
        print(f"{base.stem}: the two write different texts")


def pairs(old, base, rounds, cores, which):
    """What both took, a pair for each round; `which` is 1 for the processor, 2 for the clock."""
    taken = []
    for number in range(rounds):
        order = (old, CBFS) if number % 2 else (CBFS, old)
        by_program = {program: export(program, base, cores)[which] for program in order}
        taken.append((by_program[old], by_program[CBFS]))
    return taken


def report(what, taken, games, plies):
    """One line: both, by game and by ply, and their ratio."""
    before, now = (statistics.median(times) for times in zip(*taken))
    ratio = statistics.median(old / new for old, new in taken)
    old_ply, new_ply = (seconds * 1e9 / plies for seconds in (before, now))
    print(f"{what:44}{games / before:>12,.0f}{games / now:>12,.0f}{old_ply:>9.1f}{new_ply:>9.1f}{ratio:>8.2f}")


def measure(base, rounds, old):
    """Print a table of the base, or of three real ones."""
    bases = [base] if base else [SHARED / "bases" / name for name in BASES]
    print(f"{'':44}{'games/s old':>12}{'new':>12}{'ns/ply old':>11}{'new':>7}{'ratio':>8}")
    for small in bases:
        large, games, plies = multiplied(small)
        tell_if_different(old, large)
        first = {min(os.sched_getaffinity(0))}
        alone = pairs(old, large, rounds, first, 1)
        report(f"{small.stem}, one core, processor time", alone, games, plies)
        together = pairs(old, large, rounds, None, 2)
        report(f"{small.stem}, all cores, time passed", together, games, plies)
        passed = pairs(old, large, rounds, first, 2)
        both = statistics.median(new for _, new in passed) / statistics.median(new for _, new in together)
        print(f"{small.stem}: all cores export {both:.2f} times as fast as one")
        shutil.rmtree(large.parent)
