"""What a mounted opening book costs.

A CTG book is mounted afresh for each figure, and the least of the rounds counts: until the mount can be used, the memory
of the daemon then and at the end, the first table of moves that anybody looks at and those after it (each of another
position), a walk over directories six moves deep, and the Polyglot book, which the first read makes. Last, `cbfs check`
reads all of it. Look-ups without a mount are measured by `cargo bench --bench book`.
"""

import itertools
import os
import subprocess
import time

from .million import Report
from .mounts import CBFS, Mount, build, milliseconds_to_start, run

MOUNT_LIMIT_MS, RESIDENT_LIMIT_MIB = 10, 10
MOVES_LIMIT_MS = 0.3
LIST_LIMIT = 5_000
POLYGLOT_LIMIT_S, CHECK_LIMIT_S = 2, 2

FIRST = "tree/e4/c5/moves.tsv"
LATER = [f"tree/{moves}/moves.tsv" for moves in ("e4/e5", "d4/d5", "d4/Nf6", "c4/e5", "e4/e6", "Nf3/d5")]
LISTED = 20_000


def prepare(_):
    """Build cbfs."""
    build()


def mount(book):
    """cbfs in the foreground."""
    return Mount([CBFS, "mount", "-f", "-o", "ro", book, None])


def read_ms(path):
    """Milliseconds that opening and reading a file take."""
    start = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        file.read()
    return (time.perf_counter() - start) * 1e3


def looks(book, rounds):
    """The least that the first look and a later one take, and the memory after the mount."""
    first, later, resident = [], [], []
    # Asking whether a file is there is a look at it.
    with mount(book) as mounted:
        others = [path for path in LATER if (mounted.directory / path).exists()]
    for _ in range(rounds):
        with mount(book) as mounted:
            resident.append(mounted.memory()["VmRSS"])
            first.append(read_ms(mounted.directory / FIRST))
            later += [read_ms(mounted.directory / path) for path in others]
    return min(first), min(later), max(resident)


def positions_a_second(book):
    """How fast directories of positions are listed, and the memory after it."""
    with mount(book) as mounted:
        with open(mounted.directory / "export/positions.tsv", encoding="utf-8") as table:
            column = next(table).split("\t").index("fen")
            fens = [line.split("\t")[column] for line in itertools.islice(table, LISTED)]
        names = ["_".join(fen.split(" ")[:4]).replace("/", ":") for fen in fens]
        start = time.perf_counter()
        for name in names:
            os.listdir(mounted.directory / "fen" / name)
        return len(names) / (time.perf_counter() - start), mounted.memory()["VmRSS"]


def polyglot_seconds(book):
    """How long the first read of the Polyglot book takes."""
    with mount(book) as mounted:
        return mounted.seconds("cat export/book.bin > /dev/null")


def check_seconds(book):
    """How long `cbfs check` takes."""
    start = time.perf_counter()
    run(CBFS, "-q", "check", book, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(book, rounds):
    """Measure all; gives whether no limit was missed."""
    report = Report()
    least, _ = milliseconds_to_start(book, rounds, first="tree/position.fen")
    report.line("cbfs mount until the first position is there", least, "ms", MOUNT_LIMIT_MS)
    first, later, resident = looks(book, rounds)
    report.line("  resident", resident, "MiB", RESIDENT_LIMIT_MIB)
    report.line(f"first {FIRST}", first, "ms", MOVES_LIMIT_MS)
    report.line("  another one after it", later, "ms", MOVES_LIMIT_MS)
    rates, memory = zip(*(positions_a_second(book) for _ in range(min(rounds, 3))))
    report.line(f"directories of {LISTED} positions listed", max(rates), "/s", LIST_LIMIT, at_least=True)
    report.line("  resident after it", max(memory), "MiB")
    report.line("export/book.bin through the mount", min(polyglot_seconds(book) for _ in range(min(rounds, 3))), "s", POLYGLOT_LIMIT_S)
    report.line("cbfs check", min(check_seconds(book) for _ in range(min(rounds, 3))), "s", CHECK_LIMIT_S)
    return report.failures == 0
