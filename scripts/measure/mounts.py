"""Programs, places and mounts that all measurements share."""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SHARED = Path(os.environ.get("CBFS_SHARED", ROOT.parent / "shared"))
CBFS = ROOT / "target/release/cbfs"
WORK = ROOT / "target/bench"
CACHE = WORK / "cache"


def run(*command, **options):
    """Run a command that must succeed."""
    return subprocess.run([str(word) for word in command], check=True, **options)


def build():
    """Build cbfs."""
    run("cargo", "build", "--quiet", "--release", "--locked", cwd=ROOT)


class Mount:
    """A mounted filesystem, `with Mount(...) as mount`; None in the command is the directory."""

    def __init__(self, command):
        self.command = command

    def __enter__(self):
        self.directory = Path(tempfile.mkdtemp(prefix="cbfs-bench-"))
        command = [str(self.directory if word is None else word) for word in self.command]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while not os.path.ismount(self.directory):
            if self.process.poll() is not None:
                sys.exit(f"bench: {self.command[0]} ended with {self.process.returncode}")
            time.sleep(0.001)
        return self

    def __exit__(self, *_):
        run("umount", self.directory)
        self.process.wait()
        self.directory.rmdir()

    def seconds(self, command):
        """How long a shell command takes in the mount."""
        start = time.perf_counter()
        run("sh", "-c", command, cwd=self.directory)
        return time.perf_counter() - start

    def memory(self):
        """Memory of the daemon in MiB, by the names of /proc/PID/status."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return {name: int(kib) / 1024 for name, kib in re.findall(r"^(\w+):\s+(\d+) kB$", status, re.MULTILINE)}


def forget():
    """Make the next mount the first of its base."""
    shutil.rmtree(CACHE, ignore_errors=True)


def mount_cbfs(base):
    """cbfs in the foreground, with the read-only profile."""
    return Mount(["env", f"XDG_CACHE_HOME={CACHE}", CBFS, "mount", "-f", "-o", "ro", base, None])


def milliseconds_to_start(base, rounds, before=lambda: None, first="games/000001.pgn"):
    """How long `cbfs mount` takes until the first file can be opened: the least, and the median."""
    times = []
    for _ in range(rounds):
        before()
        directory = tempfile.mkdtemp(prefix="cbfs-bench-")
        start = time.perf_counter()
        run("env", f"XDG_CACHE_HOME={CACHE}", CBFS, "mount", "-o", "ro", base, directory)
        os.stat(f"{directory}/{first}")
        times.append((time.perf_counter() - start) * 1e3)
        run(CBFS, "umount", directory)
        os.rmdir(directory)
    return min(times), statistics.median(times)
