"""A mount against a filesystem that does nothing."""

import os
import shutil
import statistics
import sys

from .mounts import CBFS, ROOT, SHARED, WORK, Mount, build, forget, milliseconds_to_start, mount_cbfs, run

ROD = WORK / "rod/target/release/ceiling"
# As many threads as cbfs has: the system puts more of them on other cores, which costs more than what they do.
THREADS = min(max(os.cpu_count(), 4), 16)
ROD_OPTIONS = f"--threads {THREADS} --ttl 86400 --rdp on --noxattr --noopen --noopendir --keep --cachedir".split()
COMMANDS = ["grep -r x games/", "cat games/*", "tar c games", "ls -l games"]
# Through a pipe, because grep and tar look whether their output is /dev/null and then do nothing.
TO_NOWHERE = " | cat >/dev/null"
LIMITS = {"cold": 1.3, "warm": 1.1}
USABLE_LIMIT_MS, RESIDENT_LIMIT_MIB = 30, 20


def prepare(base):
    """Build both programs; export the base and split it into the files the rod serves."""
    if not (SHARED / "rods/ceiling").is_dir():
        sys.exit(f"bench: there is no rod in {SHARED} (set CBFS_SHARED)")
    build()
    rod = WORK / "rod"
    if not ROD.exists():
        shutil.rmtree(rod, ignore_errors=True)
        shutil.copytree(SHARED / "rods/ceiling", rod)
        run("chmod", "-R", "u+w", rod)
        run("cargo", "build", "--quiet", "--release", "--locked", cwd=rod)
    shutil.rmtree(WORK / "games", ignore_errors=True)
    run(CBFS, "export", base, "-o", WORK / "all.pgn")
    run(ROOT / "scripts/pgnsplit.py", WORK / "all.pgn", WORK / "games")


def mount_rod():
    """The rod over the same files."""
    return Mount([ROD, None, "--pgn", WORK / "games", *ROD_OPTIONS])


def check_same_files(base):
    """Both must serve the same bytes, else the comparison is worth nothing."""
    with mount_cbfs(base) as mount:
        run("diff", "-rq", WORK / "games", mount.directory / "games")


def compare(base, rounds, before):
    """Seconds by (command, cold or warm): pairs of cbfs and rod, one for each round."""
    makers = {"cbfs": lambda: mount_cbfs(base), "rod": mount_rod}
    pairs = {(command, state): [] for command in COMMANDS for state in LIMITS}
    for number in range(rounds):
        order = list(makers) if number % 2 else list(makers)[::-1]
        for command in COMMANDS:
            taken = {}
            for name in order:
                before()
                with makers[name]() as mount:
                    cold, *warm = (mount.seconds(command + TO_NOWHERE) for _ in range(4))
                    taken[name] = {"cold": cold, "warm": min(warm)}
            for state in LIMITS:
                pairs[command, state].append((taken["cbfs"][state], taken["rod"][state]))
    return pairs


def report(pairs):
    """Times in milliseconds and ratios."""
    print(f"\n{'':24}{'cbfs ms':>18}{'rod ms':>18}{'cbfs / rod':>18}")
    print(f"{'':24}{'min   median':>18}{'min   median':>18}{'min   median':>18}{'at most':>10}")
    for (command, state), taken in pairs.items():
        cbfs, rod = zip(*taken)
        ratios = [mine / other for mine, other in taken]
        cells = [f"{min(times) * 1e3:9.1f}{statistics.median(times) * 1e3:9.1f}" for times in (cbfs, rod)]
        best = min(cbfs) / min(rod)
        print(f"{state} {command:19}{''.join(cells)}{best:9.2f}{statistics.median(ratios):9.2f}{LIMITS[state]:10}")


def report_start(base, rounds, before):
    """How long a mount takes."""
    least, median = milliseconds_to_start(base, rounds, before)
    print(f"\nmount usable after {least:.1f} ms (median {median:.1f}, at most {USABLE_LIMIT_MS})")


def report_memory(base):
    """Resident memory of the daemon once every file has been listed."""
    with mount_cbfs(base) as mount:
        mount.seconds("ls -lR" + TO_NOWHERE)
        memory = mount.memory()
    print(
        f"resident after ls -lR: {memory['VmRSS']:.1f} MiB (at most {RESIDENT_LIMIT_MIB};"
        f" {memory['RssAnon']:.1f} of it its own, {memory['VmHWM']:.1f} at the highest)"
    )


def measure(base, rounds, is_first):
    """Measure and tell; `is_first` forgets the lengths of files before each mount."""
    before = forget if is_first else lambda: None
    print(f"{base.name}: {sum(1 for _ in (WORK / 'games').iterdir())} games, {rounds} rounds")
    print("each mount is the first of the base" if is_first else "lengths of files are kept from earlier mounts")
    print(f"baseline: {ROD.name} {' '.join(ROD_OPTIONS)}")
    check_same_files(base)
    report(compare(base, rounds, before))
    report_start(base, rounds, before)
    before()
    report_memory(base)
