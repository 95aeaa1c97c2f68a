"""What reading a base in a large archive costs when nothing of it is in memory.

Each round takes the archive out of the page cache, mounts it and reads the first game; another one reads the last game,
whose place is behind that of all others. A large archive to try it on: `scripts/multiply BASE.cbh BIG/big.cbh --games
6800000 --players 200000`, then `cbfs pack BIG/big.cbh big.cbv`.
"""

import json
import os
import statistics
import subprocess
import sys
import time

from . import mounts

MOST_SECONDS = 1
MOST_MIB = 64


def prepare(archive):
    """Build cbfs."""
    if archive.suffix.lower() not in (".cbv", ".cbz"):
        sys.exit("bench: --archive measures an archive, name one")
    mounts.build()


def games_in(archive):
    """How many records the base in the archive has."""
    info = subprocess.run([mounts.CBFS, "info", "--json", archive], check=True, stdout=subprocess.PIPE)
    members = json.loads(info.stdout)["archive"]["members"]
    return next(member["bytes"] // 46 - 1 for member in members if member["name"].lower().endswith(".cbh"))


def cold(archive, number):
    """Seconds until a game was read, and the most memory of the daemon in MiB."""
    with archive.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    mounts.forget()
    start = time.perf_counter()
    with mounts.mount_cbfs(archive) as mount:
        (mount.directory / f"games/{number:06}.pgn").read_bytes()
        return time.perf_counter() - start, mount.memory()["VmHWM"]


def measure(archive, rounds):
    """Print the medians. Ends with 1 if the first game takes too long or too much."""
    for name, number in (("first", 1), ("last", games_in(archive))):
        times, memory = zip(*(cold(archive, number) for _ in range(rounds)))
        print(f"{name} game: {statistics.median(times):.2f} s ({min(times):.2f} to {max(times):.2f}), {max(memory):.0f} MiB")
        if name == "first" and (statistics.median(times) > MOST_SECONDS or max(memory) > MOST_MIB):
            sys.exit(f"bench: more than {MOST_SECONDS} s or {MOST_MIB} MiB")
