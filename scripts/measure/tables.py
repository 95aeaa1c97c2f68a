"""What tables cost: a base as Parquet, in pairs with the same base as PGN.

The base is repeated to 120,000 games, all of which are in the years of the original: those of a year lie scattered. Processor time is compared, the
median ratio of the pairs counts; memory is the most that a run had of its own, as the kernel tells it every 20 ms.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from .mounts import CBFS, ROOT, WORK, build, run

GAMES, PLAYERS = 120_000, 20_000
MEMORY_LIMIT_MIB = 256


def prepare(_base):
    """Build cbfs as it is now."""
    build()


def own_memory(process):
    """Anonymous memory of a process now, in KiB."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")), 0)


def export(*arguments):
    """Seconds of the processor, seconds passed, and the most memory in MiB."""
    start, most = time.perf_counter(), 0
    process = subprocess.Popen([CBFS, "export", "--quiet", *arguments], stdout=subprocess.DEVNULL)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        most = max(most, own_memory(process))
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"bench: the export ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start, most / 1024


def measure(base, rounds, games=GAMES, players=PLAYERS):
    """Compare the exports; whether the memory kept to its limit."""
    folder = WORK / "tables"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    large = folder / base.name
    run(ROOT / "scripts/multiply", base, large, "--games", games, "--players", players, stdout=subprocess.DEVNULL)
    ratios, passed, most = [], [], 0
    for _ in range(rounds):
        text, _, _ = export(large)
        tables, seconds, memory = export("--format", "parquet", large, "-o", folder / "out")
        shutil.rmtree(folder / "out")
        ratios.append(tables / text)
        passed.append(games / seconds)
        most = max(most, memory)
    shutil.rmtree(folder)
    print(f"{games} games as tables: {statistics.median(ratios):.2f} times the processor time of PGN, {statistics.median(passed):,.0f} games/s, {most:.0f} MiB")
    return most <= MEMORY_LIMIT_MIB
