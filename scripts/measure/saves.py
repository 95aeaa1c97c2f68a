"""What saving costs.

A save is closed on a base of a million games, each time of another game, and without fsync. Changed games are copied over
themselves, and into the writable directory of a filesystem that keeps them in memory and does nothing else (the rod). A
PGN of the whole base, ten times over, is imported into a new one.
"""

import os
import random
import re
import shutil
import statistics
import subprocess
import time

from . import rod
from .million import Report, large_base
from .mounts import CACHE, CBFS, WORK, Mount, build, run

SAVES, NEW_PLAYERS = 500, 100
COPIED = 1000
CLOSE_LIMIT_MS, COPY_LIMIT, IMPORT_LIMIT = 2, 5, 10_000
ROD_OPTIONS = f"--threads {rod.THREADS} --ttl 86400 --rdp auto --noxattr --keep --cachedir --rw".split()
PLACE = WORK / "saves"


def prepare(base):
    """Build both programs, make the large base, export the other."""
    rod.prepare(base)
    build()
    large_base(base)


def copy_of(base):
    """A copy of a base that can be written."""
    shutil.rmtree(PLACE, ignore_errors=True)
    PLACE.mkdir(parents=True)
    for path in base.parent.glob(f"{base.stem}.*"):
        shutil.copyfile(path, PLACE / path.name)
    return PLACE / base.name


def mount(base):
    """cbfs in the foreground, to write."""
    return Mount(["env", f"XDG_CACHE_HOME={CACHE}", f"XDG_STATE_HOME={PLACE}", CBFS, "mount", "-f", "-o", "rw", base, None])


def with_tag(text, name, value):
    """The text of a game with another value of a tag."""
    return re.sub(rf'^\[{name} ".*"\]$', f'[{name} "{value}"]', text, count=1, flags=re.MULTILINE)


def closes(games, ids, edit):
    """Milliseconds that closing takes, for each of the games."""
    times = []
    for number in ids:
        path = games / f"{number:06}.pgn"
        text = edit(path.read_text(), number)
        file = open(path, "w")
        file.write(text)
        file.flush()
        start = time.perf_counter()
        file.close()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def measure_closes(base, report):
    """Saves on a large base."""
    with mount(copy_of(large_base(base))) as mounted:
        games = mounted.directory / "games"
        count = int(subprocess.check_output([CBFS, "info", "--json", PLACE / "million.cbh"]).split(b'"games": ')[1].split(b",")[0])
        ids = random.Random(1).sample(range(1, count), SAVES + NEW_PLAYERS)
        ids = [number for number in ids if (games / f"{number:06}.pgn").exists()]
        same_names = closes(games, ids[NEW_PLAYERS:], lambda text, number: with_tag(text, "Round", number % 97 + 1))
        new_names = closes(games, ids[:NEW_PLAYERS], lambda text, number: with_tag(text, "White", f"Newcomer, N{number}"))
        report.line("close of a saved game, a million games", statistics.median(same_names), "ms", CLOSE_LIMIT_MS)
        report.line("  the slowest", max(same_names), "ms")
        report.line("close with a new player", statistics.median(new_names), "ms", CLOSE_LIMIT_MS)
        report.line("  the slowest", max(new_names), "ms")
        report.line("resident", mounted.memory()["VmRSS"], "MiB")


def changed_games(source, round_number):
    """A directory with a thousand games of another round."""
    folder = PLACE / f"changed-{round_number}"
    folder.mkdir()
    for path in sorted(source.iterdir())[:COPIED]:
        (folder / path.name).write_text(with_tag(path.read_text(), "Round", f"{round_number}"))
    return folder


def measure_copies(base, rounds, report):
    """Changed games over themselves, against the rod."""
    copied = copy_of(base)
    folders = [changed_games(WORK / "games", number + 1) for number in range(rounds + 1)]
    first, *others = folders
    with mount(copied) as mounted, Mount([rod.ROD, None, *ROD_OPTIONS]) as other:
        places = {"cbfs": mounted.directory / "games", "rod": other.directory / "w"}
        taken = {name: [] for name in places}
        for name, place in places.items():
            run("sh", "-c", f"cp {first}/* {place}/")
        for number, folder in enumerate(others):
            for name in list(places) if number % 2 else list(places)[::-1]:
                start = time.perf_counter()
                run("sh", "-c", f"cp {folder}/* {places[name]}/")
                taken[name].append(time.perf_counter() - start)
        ratios = [mine / rods for mine, rods in zip(taken["cbfs"], taken["rod"])]
    report.line(f"cp of {COPIED} changed games over themselves", min(taken["cbfs"]) * 1e3, "ms")
    report.line("  the rod", min(taken["rod"]) * 1e3, "ms")
    report.line("  ratio of the least", min(taken["cbfs"]) / min(taken["rod"]), "", COPY_LIMIT)
    report.line("  median of the ratios", statistics.median(ratios), "", COPY_LIMIT)


def measure_import(rounds, report):
    """The whole base as PGN, ten times over, into a new one."""
    once = (WORK / "all.pgn").read_text()
    text = WORK / "import.pgn"
    text.write_text(once * 10)
    count = text.read_text().count("[Event ")
    rates = []
    for _ in range(rounds):
        shutil.rmtree(PLACE, ignore_errors=True)
        PLACE.mkdir(parents=True)
        start = time.perf_counter()
        run(CBFS, "import", "--create", PLACE / "new.cbh", text, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        rates.append(count / (time.perf_counter() - start))
    report.line("import of PGN, games a second", max(rates), "/s", IMPORT_LIMIT, at_least=True)


def measure(base, rounds):
    """Measure all; gives whether no limit was missed."""
    os.sync()
    report = Report()
    measure_closes(base, report)
    measure_copies(base, rounds, report)
    measure_import(rounds, report)
    shutil.rmtree(PLACE)
    return report.failures == 0
