#!/usr/bin/env python3
"""Edit games of a mounted base with the editors and tools people use, and see that each edit is in the base.

    editors.py CBFS BASE.cbh [NAME…]      all programs, or those of these names; on a copy of the base
    editors.py --plain CBFS BASE.cbh …    on an ordinary directory instead, to see that the programs are driven as they should be
    editors.py --all …                    a program that is missing is a failure
    editors.py --through players …        edit each game where it is listed under players/, eco/ or the like; programs that remove
                                          the old file first are refused there, and change nothing

Every program puts one tag at the top of one game and saves as it does by default. Then the game has the tag, whatever reads
it; the other games have the text they had; the base has no defect that it had not before, also after unmounting and mounting
again; and nothing that an editor left beside the game is in the base.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

PATIENCE_S = 30
CHILD = Path(__file__).name
# No wrapper of the desktop, no start-up file of whoever runs this.
ENVIRONMENT = {"PATH": os.environ["PATH"] + ":/usr/sbin:/usr/games", "LANG": "C.UTF-8", "TERM": "screen-256color"}


class Failure(Exception):
    """What went otherwise than it should."""


@dataclass
class Task:
    """One edit: the game's file, the line to put at its top, the text it has, a directory outside the mount."""

    file: Path
    line: str
    before: str
    outside: Path

    @property
    def after(self):
        return f"{self.line}\n{self.before}"

    def run(self, command, **options):
        """Runs a command in the game's directory; `{}` is the game's name."""
        if isinstance(command, str):
            command = [part.replace("{}", self.file.name) for part in shlex.split(command)]
        done = subprocess.run(
            command, cwd=self.file.parent, env=self.environment(), capture_output=True, text=True, timeout=PATIENCE_S,
            **({"stdin": subprocess.DEVNULL} if "input" not in options else {}), **options,
        )
        if done.returncode != 0:
            raise Failure(f"{command[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
        return done.stdout

    def shell(self, script):
        """Runs a script of the shell; $1 is the game's name, $2 a file with the new text, $3 the line."""
        self.run(["bash", "-euc", script, "bash", self.file.name, str(self.write_outside()), self.line])

    def write_outside(self, name=None):
        """A file outside the mount with the edited text."""
        path = self.outside / (name or self.file.name)
        path.write_text(self.after)
        return path

    def environment(self):
        return ENVIRONMENT | {"HOME": str(self.outside)}


# -- How each program is driven


def shell(script):
    return lambda task: task.shell(script)


def filter_of(command, argument=False):
    """A program that reads commands from its input; {line} in them is the line."""

    def run(task, commands):
        task.run(command, input=commands.replace("{line}", task.line))

    return lambda commands: lambda task: run(task, commands)


def python(script):
    """A script of Python with `path`, `line`, `old` and `new`."""

    def run(task):
        task.run([sys.executable, "-c", "import sys, os, mmap, fileinput, tempfile\npath, line = sys.argv[1:3]\nold = sys.stdin.read()\n"
                  "new = line + '\\n' + old\n" + script, task.file.name, task.line], input=task.before)

    return run


def terminal(command, *keys, settings=None):
    """A program in a terminal. `{line}` is typed as it stands, all else are keys as tmux names them; `settings` are a file of
    this name and content in the home directory."""

    def run(task):
        session = f"cbfs-editors-{os.getpid()}"
        tmux = ["tmux", "-L", session]
        line = f"cd {shlex.quote(str(task.file.parent))}; {command.replace('{}', task.file.name)}"
        if settings:
            name, content = settings
            (task.outside / name).write_text(content)

        def screen():
            shown = subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True)
            return shown.stdout.strip()

        def wait(what, is_so):
            end = time.monotonic() + PATIENCE_S
            while not is_so():
                if time.monotonic() > end:
                    raise Failure(f"{what}; the screen says:\n{screen()}")
                time.sleep(0.02)

        def settled():
            """Whether the screen has something on it and stands still."""
            first = screen()
            time.sleep(0.12)
            return bool(first) and first == screen()

        subprocess.run([*tmux, "-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", line], env=task.environment(), check=True)
        try:
            wait("it does not show the game", lambda: "[Event" in screen() or not has_session(tmux))
            wait("it does not come to rest", settled)
            for key in keys:
                if key == "{line}":
                    subprocess.run([*tmux, "send-keys", "-l", task.line], check=True)
                    wait("the line cannot be typed", lambda: task.line in screen())
                else:
                    subprocess.run([*tmux, "send-keys", key], capture_output=True)
                wait("it does not come to rest", lambda: settled() or not has_session(tmux))
            wait("it does not end", lambda: not has_session(tmux))
        finally:
            subprocess.run([*tmux, "kill-server"], capture_output=True)

    return run


def has_session(tmux):
    return subprocess.run([*tmux, "has-session"], capture_output=True).returncode == 0


def daemon_rsync(*options):
    def run(task):
        # Another time, else rsync takes it for the same file.
        task.run(["rsync", *options, str(task.write_outside()), task.file.name])

    return run


def patch_of(task):
    """The edit as `diff -u` writes it."""
    old = task.outside / "old"
    old.write_text(task.before)
    new = task.write_outside("new")
    name = task.file.name
    diff = subprocess.run(
        ["diff", "-u", "--label", f"a/{name}", "--label", f"b/{name}", str(old), str(new)], capture_output=True, text=True
    )
    path = task.outside / "edit.patch"
    path.write_text(diff.stdout)
    return path


def archive(make, unpack):
    """Puts the new text into an archive outside and unpacks it over the game."""

    def run(task):
        task.write_outside()
        subprocess.run(["bash", "-euc", make, "bash", task.file.name], cwd=task.outside, check=True, capture_output=True)
        task.run(["bash", "-euc", unpack, "bash", task.file.name, str(task.outside)])

    return run


def git_apply(task):
    task.run(["git", "apply", "--unidiff-zero", str(patch_of(task))])


def git_checkout(task):
    """A work tree of git in the mount, its repository outside."""
    path = task.write_outside()
    git = ["git", f"--git-dir={task.outside}/repository", f"--work-tree={task.file.parent}"]
    subprocess.run(["git", "init", "-q", "--bare", f"{task.outside}/repository"], check=True, capture_output=True)
    blob = task.run([*git, "hash-object", "-w", str(path)]).strip()
    task.run([*git, "update-index", "--add", "--cacheinfo", f"100644,{blob},{task.file.name}"])
    task.run([*git, "checkout-index", "-f", task.file.name])


def mcedit(task):
    """It asks about a file with several names."""
    detach = ["Enter"] if task.file.stat().st_nlink > 1 else []
    terminal("mcedit {}", "{line}", "Enter", "F2", "Enter", *detach, "F10")(task)


EMACS_KEYS = ["{line}", "Enter", "C-x", "C-s", "C-x", "C-c"]
VI_KEYS = ["i", "{line}", "Enter", "Escape", ":wq", "Enter"]
ED_COMMANDS = "0a\n{line}\n.\nw\nq\n"
AWK = "BEGIN { print line } { print }"


@dataclass
class Program:
    """A program, the command it needs, its package, and how it edits."""

    name: str
    command: str
    package: str
    edit: Callable
    # Whether it removes the old file first: that is refused where a game is listed for another reason than that it is there.
    removes: bool = False


def programs():
    """All of them."""
    p = Program
    ed = filter_of("ed -s {}")
    ex = filter_of("ex -s {}")
    return [
        # In a terminal.
        p("vim", "vim", "vim", terminal("vim -u NONE -N {}", *VI_KEYS)),
        p("vim with all backups", "vim", "vim", terminal("vim -u NONE -N -c 'set backup undofile backupcopy=no' {}", *VI_KEYS)),
        p("vim with all it leaves", "vim", "vim", terminal(
            "vim -u NONE -N -c 'set backup writebackup undofile backupcopy=auto patchmode=.orig directory=. backupdir=. undodir=.' {}", *VI_KEYS)),
        p("vim that copies", "vim", "vim", terminal("vim -u NONE -N -c 'set backup backupcopy=yes' {}", *VI_KEYS)),
        p("vim without backups", "vim", "vim", terminal("vim -u NONE -N -c 'set nobackup nowritebackup noswapfile' {}", *VI_KEYS)),
        p("nvim", "nvim", "neovim", terminal("nvim -u NONE {}", *VI_KEYS)),
        p("nvim with backups", "nvim", "neovim", terminal("nvim -u NONE -c 'set backup backupdir=. undofile' {}", *VI_KEYS)),
        p("emacs", "emacs", "emacs-nox", terminal("emacs -nw -Q {}", *EMACS_KEYS)),
        p("emacs, numbered backups", "emacs", "emacs-nox", terminal("emacs -nw -Q --eval '(setq version-control t)' {}", *EMACS_KEYS)),
        p("emacs, precious", "emacs", "emacs-nox", terminal("emacs -nw -Q --eval '(setq file-precious-flag t)' {}", *EMACS_KEYS)),
        p("emacs that copies", "emacs", "emacs-nox", terminal("emacs -nw -Q --eval '(setq backup-by-copying t)' {}", *EMACS_KEYS)),
        p("nano", "nano", "nano", terminal("nano {}", "{line}", "Enter", "C-o", "Enter", "C-x")),
        p("nano with locks and backups", "nano", "nano", terminal("nano -G -B {}", "{line}", "Enter", "C-o", "Enter", "C-x")),
        p("micro", "micro", "micro", terminal(
            "micro -config-dir $HOME -clipboard internal {}", "{line}", "Enter", "C-s", "C-q", settings=('settings.json', '{"autoclose": false}'))),
        p("kakoune", "kak", "kakoune", terminal("kak -n {}", "i", "{line}", "Enter", "Escape", ":wq", "Enter")),
        p("joe", "joe", "joe", terminal("joe {}", "{line}", "Enter", "C-k", "x")),
        p("jed", "jed", "jed", terminal("jed {}", *EMACS_KEYS)),
        p("jove", "jove", "jove", terminal("jove {}", *EMACS_KEYS)),
        p("mg", "mg", "mg", terminal("mg {}", *EMACS_KEYS)),
        p("zile", "zile", "zile", terminal("zile -q {}", *EMACS_KEYS)),
        p("ne", "ne", "ne", terminal("ne --no-config {}", "{line}", "Enter", "C-s", "C-q")),
        p("mcedit", "mcedit", "mc", mcedit),
        p("vile", "vile", "vile", terminal("vile {}", *VI_KEYS)),
        p("nvi", "nvi", "nvi", terminal("nvi {}", *VI_KEYS)),
        p("vis", "vis", "vis", terminal("vis {}", *VI_KEYS)),
        p("dte", "dte", "dte", terminal("dte {}", "{line}", "Enter", "C-s", "C-q")),
        p("busybox vi", "busybox", "busybox", terminal("busybox vi {}", *VI_KEYS)),
        # Fed with commands.
        p("ed", "ed", "ed", ed(ED_COMMANDS)),
        p("ex", "ex", "vim", ex("0a\n{line}\n.\nx\n")),
        p("vim -es", "vim", "vim", lambda task: task.run(["vim", "-u", "NONE", "-es", "-c", f"call append(0, '{task.line}')", "-c", "wq", task.file.name])),
        p("emacs, auto-saved", "emacs", "emacs-nox", terminal(
            "emacs -nw -Q --eval '(setq auto-save-interval 20 auto-save-timeout 1 kept-new-versions 9)' {}", "{line}", "Enter", "C-x", "C-s", "C-x", "C-c")),
        p("emacs --batch", "emacs", "emacs-nox", lambda task: task.run(
            ["emacs", "-Q", "--batch", task.file.name, "--eval", f"(progn (insert {lisp(task.line)} \"\\n\") (save-buffer))"])),
        # Filters that write in place.
        p("sed -i", "sed", "sed", shell('sed -i "1i $3" "$1"')),
        p("sed -i.bak", "sed", "sed", shell('sed -i.bak "1i $3" "$1"')),
        p("perl -pi", "perl", "perl", shell('''LINE=$3 perl -pi -e 'print "$ENV{LINE}\\n" if $. == 1' "$1"''')),
        p("perl -pi.orig", "perl", "perl", shell('''LINE=$3 perl -pi.orig -e 'print "$ENV{LINE}\\n" if $. == 1' "$1"''')),
        p("gawk -i inplace", "gawk", "gawk", shell('''gawk -i inplace 'NR == 1 { print ENVIRON["LINE"] } { print }' "$1"'''.replace("gawk", 'LINE=$3 gawk', 1))),
        p("busybox sed -i", "busybox", "busybox", shell('busybox sed -i "1i $3" "$1"')),
        p("sponge", "sponge", "moreutils", shell('{ echo "$3"; cat "$1"; } | sponge "$1"')),
        p("patch", "patch", "patch", lambda task: task.run(["patch", "-p1", "-i", str(patch_of(task))])),
        p("patch -b", "patch", "patch", lambda task: task.run(["patch", "-b", "-p1", "-i", str(patch_of(task))])),
        p("git apply", "git", "git", git_apply),
        p("git checkout", "git", "git", git_checkout, removes=True),
        p("unix2dos and dos2unix", "dos2unix", "dos2unix", shell('cat "$2" > "$1"; unix2dos -q "$1"; dos2unix -q "$1"')),
        # Copies and moves.
        p("cp", "cp", "coreutils", shell('cp "$2" "$1"')),
        p("cp -a", "cp", "coreutils", shell('cp -a "$2" "$1"'), removes=True),
        p("cp -b", "cp", "coreutils", shell('cp -b "$2" "$1"')),
        p("cp --remove-destination", "cp", "coreutils", shell('cp --remove-destination "$2" "$1"'), removes=True),
        p("mv", "mv", "coreutils", shell('mv "$2" "$1"'), removes=True),
        p("mv within the mount", "mv", "coreutils", shell('cp "$2" "$1.new"; mv "$1.new" "$1"')),
        p("a temporary game, moved", "mv", "coreutils", shell('cp "$2" tmp.pgn; mv tmp.pgn "$1"')),
        p("mv away and cp", "mv", "coreutils", shell('mv "$1" "$1.old"; cp "$2" "$1"; rm "$1.old"')),
        p("install", "install", "coreutils", shell('install -m 644 "$2" "$1"'), removes=True),
        p("tar x", "tar", "tar", archive('tar cf x.tar "$1"', 'tar xf "$2/x.tar"'), removes=True),
        p("tar x --overwrite", "tar", "tar", archive('tar cf x.tar "$1"', 'tar xf "$2/x.tar" --overwrite')),
        p("tar x --unlink-first", "tar", "tar", archive('tar cf x.tar "$1"', 'tar xf "$2/x.tar" --unlink-first'), removes=True),
        p("bsdtar x", "bsdtar", "libarchive-tools", archive('tar cf x.tar "$1"', 'bsdtar xf "$2/x.tar"'), removes=True),
        p("cpio", "cpio", "cpio", archive('echo "$1" | cpio -o > x.cpio', 'cpio -iu < "$2/x.cpio"'), removes=True),
        p("unzip", "unzip", "unzip", archive('python3 -m zipfile -c x.zip "$1"', 'unzip -qo "$2/x.zip"'), removes=True),
        p("rsync", "rsync", "rsync", daemon_rsync("-c")),
        p("rsync -a", "rsync", "rsync", daemon_rsync("-a", "-I")),
        p("rsync --inplace", "rsync", "rsync", daemon_rsync("-c", "--inplace")),
        p("rsync -b", "rsync", "rsync", daemon_rsync("-c", "-b")),
        p("gio copy", "gio", "libglib2.0-bin", shell('gio copy "$2" "$1"')),
        p("gio save", "gio", "libglib2.0-bin", shell('gio save "$1" < "$2"')),
        p("gio save -b", "gio", "libglib2.0-bin", shell('gio save -b "$1" < "$2"')),
        p("dd", "dd", "coreutils", shell('dd if="$2" of="$1" status=none')),
        p("dd conv=notrunc,fsync", "dd", "coreutils", shell('dd if="$2" of="$1" conv=notrunc,fsync status=none')),
        p("tee", "tee", "coreutils", shell('tee "$1" < "$2" > /dev/null')),
        p("curl", "curl", "curl", shell('curl -s -o "$1" "file://$2"')),
        p("the shell's >", "bash", "bash", shell('cat "$2" > "$1"')),
        # The first one is told that half a game is none.
        p("the shell, in two halves", "bash", "bash", shell('{ head -n 9 "$2" 2>/dev/null || true; tail -n +10 "$2"; } > "$1"')),
        p("rm and >", "bash", "bash", shell('rm "$1"; cat "$2" > "$1"'), removes=True),
        # Programs that people write.
        p("Python, open", "python3", "python3", python("open(path, 'w').write(new)")),
        p("Python, r+", "python3", "python3", python("f = open(path, 'r+')\nf.write(new)\nf.truncate()\nf.close()")),
        p("Python, os.replace", "python3", "python3", python(
            "f = tempfile.NamedTemporaryFile('w', dir='.', delete=False)\nf.write(new)\nf.flush()\nos.fsync(f.fileno())\nf.close()\nos.replace(f.name, path)")),
        p("Python, fileinput", "python3", "python3", python(
            "for text in fileinput.input(path, inplace=True, backup='.bak'):\n    if fileinput.isfirstline(): print(line)\n    print(text, end='')")),
        p("Python, mmap", "python3", "python3", python(
            "f = open(path, 'r+b')\nnew = new.encode()\nf.truncate(len(new))\nm = mmap.mmap(f.fileno(), len(new))\nm[:] = new\nm.flush()\nm.close()\nos.fsync(f.fileno())\nf.close()")),
        p("Python, a few bytes and fsync", "python3", "python3", python(
            "f = open(path, 'r+b', buffering=0)\nf.write((line + '\\n').encode())\nfor byte in range(0, len(old), 500):\n    f.write(old.encode()[byte:byte + 500])\n"
            "os.fsync(f.fileno())\nf.close()")),
        p("Python, copy_file_range", "python3", "python3", python(
            "old = os.open(path, os.O_RDONLY)\ntemporary = os.open(path + '.new', os.O_RDWR | os.O_CREAT, 0o600)\nos.write(temporary, (line + '\\n').encode())\n"
            "while os.copy_file_range(old, temporary, 1 << 20): pass\nos.close(temporary)\nos.rename(path + '.new', path)")),
        p("node", "node", "nodejs", lambda task: task.run(
            ["node", "-e", "const fs = require('fs'); fs.writeFileSync(process.argv[1], fs.readFileSync(process.argv[2]))", task.file.name, str(task.write_outside())])),
        p("ruby", "ruby", "ruby", lambda task: task.run(
            ["ruby", "-e", "File.write(ARGV[0], File.read(ARGV[1]))", task.file.name, str(task.write_outside())])),
    ]


def lisp(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# -- Where they edit


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=4 * PATIENCE_S)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


@contextmanager
def mounted(cbfs, base, at):
    run(cbfs, "mount", "-o", "rw", base, at)
    try:
        yield Path(at)
    finally:
        run(cbfs, "umount", at)


@contextmanager
def copied(cbfs, base, at):
    """An ordinary directory with the files a mount would have."""
    with mounted(cbfs, base, at):
        games = {path.name: path.read_bytes() for path in (Path(at) / "games").iterdir()}
    folder = Path(at) / "games"
    folder.mkdir()
    for name, text in games.items():
        (folder / name).write_bytes(text)
    yield Path(at)
    shutil.rmtree(folder)


def texts(folder):
    return {path.name: path.read_text() for path in sorted(folder.glob("[0-9]*.pgn"))}


def edit(program, folder, file):
    """Lets a program edit a game, and looks at what has become of it and of all in `folder`."""
    before = texts(folder)
    line = f'[Annotator "{program.name.replace(chr(39), "")}"]'
    with tempfile.TemporaryDirectory() as outside:
        program.edit(Task(file, line, without_annotator(before[file.name]), Path(outside)))
    after = texts(folder)
    if line not in after.get(file.name, ""):
        raise Failure(f"{file.name} has not {line}")
    if strip(after[file.name]) != strip(before[file.name]):
        raise Failure(f"more than the line has changed in {file.name}")
    others = set(before) - {file.name}
    if set(after) != set(before):
        raise Failure(f"other games are there: {sorted(set(after) ^ set(before))}")
    for name in others:
        if after[name] != before[name]:
            raise Failure(f"{name} has changed, which nobody edited")
    status = file.stat()
    if status.st_size != len(file.read_bytes()):
        raise Failure(f"{file.name} has another size than it says")


def refuse(program, folder, file):
    """Lets a program try to edit a game that it cannot, and sees that nothing has changed."""
    before = texts(folder)
    try:
        edit(program, folder, file)
    except Failure:
        if texts(folder) != before:
            raise Failure("it could not edit the game, and something has changed") from None
    else:
        raise Failure(f"{file} could be removed")


def without_annotator(text):
    return "".join(line for line in text.splitlines(True) if not line.startswith("[Annotator "))


def strip(text):
    return without_annotator(text).split()


def listed(root, through):
    """The files of games that can be written, of each game one."""
    files = {file.name: file for file in sorted((root / through).rglob("[0-9]*.pgn")) if file.stat().st_mode & 0o200}
    return [files[name] for name in sorted(files)]


def verdicts(chosen, root, through, all_needed):
    """Runs the programs; gives the failures, and the line that each game has last."""
    failures, expected = [], {}
    folder, files = root / "games", listed(root, through)
    for place, program in enumerate(chosen):
        start = time.monotonic()
        if not shutil.which(program.command, path=ENVIRONMENT["PATH"]):
            print(f"missing       {program.name} (package {program.package})", flush=True)
            if all_needed:
                failures.append(program.name)
            continue
        file = files[place % len(files)]
        # The line is new to the game in any case.
        text = without_annotator(file.read_text())
        if text != file.read_text():
            file.write_text(text)
        try:
            if program.removes and through != "games":
                refuse(program, folder, file)
            else:
                edit(program, folder, file)
            verdict = "ok"
            expected[file.name] = file.read_text()
        except (Failure, OSError, subprocess.SubprocessError) as failure:
            failures.append(program.name)
            verdict = "FAILED"
            print(failure, flush=True)
            expected[file.name] = file.read_text() if file.exists() else None
        print(f"{verdict:7} {time.monotonic() - start:5.1f}  {program.name}", flush=True)
    return failures, expected


def defects(cbfs, base):
    """What `cbfs check` says of a base."""
    done = subprocess.run([cbfs, "check", base], capture_output=True, text=True, timeout=4 * PATIENCE_S)
    if done.returncode not in (0, 1):
        raise Failure(done.stderr.strip())
    # The last line counts them.
    return set(done.stdout.splitlines()[:-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="a missing program is a failure")
    parser.add_argument("--through", default="games", metavar="DIRECTORY", help="edit in this directory of the mount")
    parser.add_argument("--plain", action="store_true", help="edit in an ordinary directory")
    parser.add_argument("--packages", action="store_true", help="print the packages the programs come from, and end")
    parser.add_argument("cbfs", type=Path, nargs="?")
    parser.add_argument("base", type=Path, nargs="?")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    known = programs()
    if args.packages:
        print(*sorted({f"{program.command}={program.package}" for program in known}), sep="\n")
        return
    unknown = set(args.names) - {program.name for program in known}
    if unknown:
        sys.exit(f"no such program: {', '.join(sorted(unknown))}")
    chosen = [program for program in known if not args.names or program.name in args.names]
    cbfs = args.cbfs.resolve()
    with tempfile.TemporaryDirectory() as work:
        base = Path(work) / "base"
        # The mount is outside of what is cleared away at the end.
        shutil.copytree(args.base.parent, base)
        base = base / args.base.name
        at = Path(tempfile.mkdtemp())
        place = copied if args.plain else mounted
        before = set() if args.plain else defects(cbfs, base)
        with place(cbfs, base, at) as root:
            failures, expected = verdicts(chosen, root, args.through, args.all)
        if not args.plain:
            with mounted(cbfs, base, at) as root:
                found = texts(root / "games")
                for name, text in expected.items():
                    if found.get(name) != text:
                        failures.append(f"{name} after mounting again")
                left = {path.name for path in (root / "games").iterdir()} - set(found)
                if left:
                    failures.append(f"left in games/: {', '.join(sorted(left))}")
            new = defects(cbfs, base) - before
            if new:
                print(*sorted(new), sep="\n")
                failures.append("the base has new defects")
        at.rmdir()
    print(f"{len(chosen)} programs, {len(failures)} failures")
    if failures:
        sys.exit(f"FAILED: {', '.join(failures)}")


if __name__ == "__main__":
    main()
