#!/usr/bin/env python3
"""Edit a mounted base at random, and let python-chess judge each time what is said of its positions.

    soak-find.py BINARY BASE [--steps N] [--positions N] [--queries N] [--seed S]

A copy of the base gets an index of positions in a file and is mounted. Then, step by step, games are saved, deleted, brought
back and imported, players renamed, files changed by others, the daemon killed, makers of indexes killed, and the files of
the index cut, changed, removed or exchanged. After each step some positions are asked for in `fen/`, drawn from all that
the games in `games/` reach, and must say what python-chess finds in the texts of these games; and some queries in `find/`
must say what `cbfs find` says that has no index. Needs the package `chess`; see scripts/test.
"""

import argparse
import copy
import importlib.util
import io
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import chess.pgn

SOURCE = importlib.util.spec_from_file_location("judge_find", Path(__file__).with_name("judge-find.py"))
judge_find = importlib.util.module_from_spec(SOURCE)
SOURCE.loader.exec_module(judge_find)

RECORD, DELETED = 46, 0x80
NOTICED_S = 3
FILES_OF_INDEX = ("positions", "masks")
PIECES = {"K": chess.KING, "Q": chess.QUEEN, "R": chess.ROOK, "B": chess.BISHOP, "N": chess.KNIGHT, "P": chess.PAWN}


class Texts:
    """Games by their texts, each played through once."""

    def __init__(self):
        self.known = {}

    def game(self, number, text):
        """The game; others of another number may have the same text."""
        if text not in self.known:
            known = self.known[text] = judge_find.Game(number, text)
            line = [(at, board.copy(stack=False), move) for at, board, move in known.positions()]
            known.positions = lambda: line
        game = copy.copy(self.known[text])
        game.number = number
        return game


class Soak:
    """A copy of a base that is mounted and changed."""

    def __init__(self, binary, base, seed):
        self.binary, self.random = binary, random.Random(seed)
        self.folder = Path(tempfile.mkdtemp(prefix="soak"))
        self.base = self.copy_of(base, "soaked")
        self.other = self.copy_of(base, "other")
        self.caches, self.none = self.folder / "caches", self.folder / "none"
        self.directory = self.folder / "mount"
        for folder in (self.caches, self.none, self.directory):
            folder.mkdir()
        self.texts, self.daemon = Texts(), None
        self.cbfs("index", self.other)
        self.cbfs("delete", "--yes", self.other, "result:draw", may_fail=True)
        self.mount()

    def copy_of(self, base, name):
        """The files of a base, copied under another name."""
        (self.folder / name).mkdir()
        for file in base.parent.glob(f"{base.stem}.*"):
            if not file.is_dir():
                copy = self.folder / name / f"{name}{file.suffix}"
                shutil.copyfile(file, copy)
        return self.folder / name / f"{name}{base.suffix}"

    def environment(self, caches):
        """Where the index is."""
        state = self.folder / "state"
        return os.environ | {"XDG_CACHE_HOME": str(caches), "XDG_STATE_HOME": str(state)}

    def cbfs(self, *arguments, caches=None, may_fail=False):
        """What one run prints."""
        command = [self.binary, *map(str, arguments)]
        environment = self.environment(caches or self.caches)
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode and not may_fail:
            raise RuntimeError(f"{command}: {done.returncode}: {done.stderr}")
        return done.stdout

    def mount(self):
        """Mounts the base, whose index is made if there is none."""
        self.cbfs("index", self.base)
        command = [self.binary, "mount", "-f", self.base, self.directory]
        log = (self.folder / "log").open("ab")
        self.daemon = subprocess.Popen(command, env=self.environment(self.caches), stderr=log)
        while not os.path.ismount(self.directory):
            time.sleep(0.01)

    def unmount(self):
        """Unmounts it; all is in its files then."""
        self.cbfs("umount", self.directory)
        self.daemon.wait()

    def games(self):
        """All games that are listed."""
        for path in sorted((self.directory / "games").iterdir()):
            yield self.texts.game(int(path.stem), path.read_text())

    def path(self, of="games"):
        """The file of some game; `None` if there is none."""
        paths = sorted((self.directory / of).glob("*.pgn"))
        return self.random.choice(paths) if paths else None

    # Steps.

    def save_other_moves(self):
        """A game gets the moves of another."""
        path, other = self.path(), self.path()
        tags = path.read_text().split("\n\n", 1)[0]
        others, moves = other.read_text().split("\n\n", 1)
        lines = dict(line[1:].split(" ", 1) for line in others.splitlines() if line.startswith("["))
        if "FEN" in lines or "[FEN" in tags:
            return
        tags = re.sub(r'^\[(Result|\w*Language|Cbh\w+|Cb\w+) .*\n?', "", tags, flags=re.MULTILINE).rstrip("\n")
        text = f"{tags}\n[Result {lines['Result']}\n\n{moves}"
        self.write(path, text)

    def write(self, path, text):
        """Saves a text in one of two ways."""
        if self.random.random() < 0.5:
            path.write_text(text)
        else:
            temporary = path.with_name(f".{path.name}.swp")
            temporary.write_text(text)
            temporary.replace(path)

    def save_rating(self):
        """A player of a game gets another rating."""
        path = self.path()
        tags, moves = path.read_text().split("\n\n", 1)
        tags = re.sub(r'^\[WhiteElo .*\n', "", tags, flags=re.MULTILINE)
        self.write(path, f'{tags}\n[WhiteElo "{self.random.randrange(1000, 2900)}"]\n\n{moves}')

    def delete(self):
        """A game is deleted."""
        self.path().unlink()

    def bring_back(self):
        """One comes back."""
        if path := self.path("deleted"):
            path.rename(self.directory / "games" / path.name)

    def import_some(self):
        """Games are imported."""
        texts = [self.path().read_text() for _ in range(self.random.randrange(1, 6))]
        (self.directory / "import" / f"{self.random.random()}.pgn").write_text("\n".join(texts))

    def rename_player(self):
        """A player gets another name."""
        name = self.random.choice(os.listdir(self.directory / "players"))
        if "~" not in name and name != "(none)":
            place = self.directory / "players"
            other = place / f"{name.split(' #')[0][:20]} #{self.random.randrange(10**4)}"
            (place / name).rename(other)

    def change_outside(self):
        """Another program deletes a game, or brings one back, while it is mounted."""
        os.sync()
        descriptor = os.open(self.directory / "games", os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        count = self.base.stat().st_size // RECORD
        with self.base.open("r+b") as file:
            place = self.random.randrange(1, count) * RECORD
            file.seek(place)
            kind = file.read(1)[0]
            if kind & 2 or not kind & 1:
                return
            file.seek(place)
            file.write(bytes([kind ^ DELETED]))
        # The daemon looks for changes each second; until then it shows what it knows and what it reads.
        time.sleep(NOTICED_S)

    def change_unmounted(self):
        """Games are deleted or imported while it is not mounted."""
        text = self.path().read_text()
        self.unmount()
        file = self.folder / "some.pgn"
        file.write_text(text * self.random.randrange(1, 9))
        self.cbfs("import", self.base, file)
        self.mount()

    def compact(self):
        """The base is replaced by a tidy copy, whose games have other numbers."""
        self.unmount()
        new = self.folder / "new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        self.cbfs("compact", self.base, new / self.base.name)
        shutil.rmtree(self.base.parent)
        new.rename(self.base.parent)
        self.mount()

    def kill(self):
        """The daemon is killed, maybe while it saves."""
        path, other = self.path(), self.path()
        if self.random.random() < 0.5 and "[FEN" not in path.read_text():
            saver = subprocess.Popen(["cp", other, path], stderr=subprocess.DEVNULL)
            time.sleep(self.random.random() * 0.01)
            self.daemon.send_signal(signal.SIGKILL)
            saver.wait()
        else:
            self.daemon.send_signal(signal.SIGKILL)
        self.daemon.wait()
        subprocess.run(["umount", "-l", self.directory], check=True)
        self.mount()

    def kill_maker(self):
        """Who makes an index is killed."""
        self.cbfs("index", "--delete", self.base)
        command = [self.binary, "index", self.base]
        maker = subprocess.Popen(command, env=self.environment(self.caches), stderr=subprocess.DEVNULL)
        time.sleep(self.random.random() * 0.3)
        maker.kill()
        maker.wait()

    def damage(self):
        """A file of the index is cut, changed, removed or another."""
        files = [file for file in self.caches.rglob("*") if file.name.endswith(FILES_OF_INDEX)]
        files = [file for file in files if not file.is_symlink()]
        if not files:
            return
        file = self.random.choice(files)
        data = bytearray(file.read_bytes())
        way = self.random.randrange(6)
        if way == 0:
            file.unlink()
        elif way == 1:
            os.truncate(file, self.random.randrange(len(data) + 1))
        elif way == 2:
            data[self.random.randrange(len(data))] ^= 1 << self.random.randrange(8)
            file.unlink()
            file.write_bytes(data)
        elif way == 3:
            file.write_bytes(self.random.choice(files).read_bytes())
        elif way == 4:
            with file.open("r+b") as written:
                written.seek(self.random.randrange(len(data)))
                written.write(self.random.randbytes(64))
        else:
            file.unlink()
            file.symlink_to(self.base)

    def make_index(self):
        """The index is brought up to date beside the mount."""
        self.cbfs("index", self.base, may_fail=True)

    def judge_positions(self, count):
        """What is wrong about some positions."""
        games = list(self.games())
        examples, reached, played = judge_find.expectations(games)
        asked = [at for at, board in examples.items() if not board.status() & judge_find.IRREGULAR]
        # Half of them are those of many games.
        asked.sort(key=lambda at: -len(reached[at]))
        common = asked[: max(count, len(asked) // 20)]
        asked = self.random.sample(common, min(len(common), count // 2)) + self.random.sample(asked, min(len(asked), count // 2))
        answers = judge_find.Mount(self.binary, self.base, self.directory)
        for at in asked:
            board = examples[at]
            rows = list(judge_find.rows_of(board, played[at], reached))
            try:
                problem = judge_find.judge_position(answers, board, reached[at], rows)
            except OSError as error:
                problem = f"{judge_find.name_of(board)}: {error}"
            if problem:
                yield problem

    def terms(self):
        """Terms of a query, of what there is."""
        game = self.random.choice(list(self.texts.known.values()))
        tags, board = game.game.headers, self.random.choice(game.positions())[1]
        name = tags.get(self.random.choice(["White", "Black"]), "?").split(",")[0].replace("|", "*").replace('"', "*")
        squares = self.random.sample(sorted(board.piece_map().items()), min(2, len(board.piece_map())))
        squares = ",".join(piece.symbol() + chess.square_name(at) for at, piece in squares)
        sides = ["".join(letter * len(board.pieces(kind, colour)) for letter, kind in PIECES.items()) for colour in chess.COLORS]
        elo = self.random.randrange(1500, 2800)
        all_terms = [
            f"player:{name}", f"white:{name}", f"result:{self.random.choice(['1-0', '0-1', 'draw', 'none'])}",
            f"eco:{(tags.get('ECO') or 'none')[:2]}*", f"elo:{elo}-", f"year:-{self.random.randrange(1900, 2020)}",
            f"moves:{self.random.randrange(10, 60)}-", f"squares:{squares}", f"material:{''.join(sides)}",
            f"position:{judge_find.name_of(board)}", "in:variations", "in:deleted", "has:comments", "has:variations",
        ]  # fmt: skip
        chosen = self.random.sample(all_terms, self.random.choice([1, 1, 2, 3]))
        return [f"not-{term}" if self.random.random() < 0.2 and not term.startswith("in:") else term for term in chosen]

    def judge_queries(self, count):
        """What is wrong about some queries."""
        for _ in range(count):
            terms = self.terms()
            place = self.directory.joinpath("find", *terms)
            listed = [int(path.stem) for path in sorted((place / "games").iterdir())]
            said = int((place / "count").read_text())
            found = [int(line) for line in self.cbfs("find", self.base, *terms, "--numbers", caches=self.none).split()]
            if not listed == found or said != len(found):
                yield f"{' '.join(terms)}: {said} {listed[:9]} is {len(found)} {found[:9]}"


STEPS = [
    (8, Soak.save_other_moves), (4, Soak.save_rating), (4, Soak.delete), (3, Soak.bring_back), (2, Soak.import_some), (2, Soak.rename_player),
    (2, Soak.change_outside), (1, Soak.change_unmounted), (0.3, Soak.compact), (1, Soak.kill), (1, Soak.kill_maker), (3, Soak.damage),
    (1, Soak.make_index),
]  # fmt: skip


def main():
    """Soak, and exit 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=Path)
    parser.add_argument("base", type=Path)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--positions", type=int, default=100, help="judge so many after each step")
    parser.add_argument("--queries", type=int, default=10, help="and so many queries")
    parser.add_argument("--seed", default="cbfs")
    arguments = parser.parse_args()
    soak = Soak(arguments.binary.resolve(), arguments.base.resolve(), arguments.seed)
    weights, steps = zip(*STEPS)
    done, refused, problems = Counter(), 0, 0
    try:
        for number in range(arguments.steps):
            step = soak.random.choices(steps, weights)[0]
            done[step.__name__] += 1
            try:
                step(soak)
            except OSError as error:
                # A save that is refused is no problem here.
                refused += 1
                print(f"{number}: {step.__name__}: {error}")
            found = [*soak.judge_positions(arguments.positions), *soak.judge_queries(arguments.queries)]
            problems += len(found)
            for problem in found[: judge_find.SHOWN]:
                print(f"{number}: after {step.__name__}: {problem}", flush=True)
    finally:
        subprocess.run([soak.binary, "umount", soak.directory], check=False)
    print(f"{arguments.steps} steps, {refused} refused, {problems} problems: {dict(done)}")
    if not problems:
        shutil.rmtree(soak.folder)
    sys.exit(min(problems, 1))


if __name__ == "__main__":
    main()
