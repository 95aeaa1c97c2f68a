#!/usr/bin/env python3
"""Send the games of a base through other programs and back: no remark is lost, nor its language or place.

    through.py CBFS JS_FOLDER BASE.cbh…    JS_FOLDER is where npm has installed chessops and @mliebelt/pgn-parser

The base is exported, read and written again by each program, and imported into a new base. What that base exports must
be what the export itself gives when it is imported. Also said: whether the parser of pgn-viewer reads all games, and in
how many games chessops shows a private command. Needs the package `chess`; see scripts/test.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import chess.pgn
from judge import PGN_EXTRACT, TKSCID
from pgnsplit import split_games

THROUGH_JS = Path(__file__).resolve().with_name("through.mjs")
SCID_EXPORT = """
if {[catch {sc_base create [lindex $argv 0]} error]} { puts "cannot make a base: $error"; exit 1 }
sc_base import [sc_base current] [lindex $argv 1]
sc_base export filter PGN [lindex $argv 2] -append 0 -starttext "" -endtext "" -comments 1 -variations 1 -space 1 \\
    -symbols 0 -indentC 0 -indentV 0 -column 0 -noMarkCodes 0 -convertNullMoves 0
exit 0
"""
SHOWN_DIFFERENCES = 3


def run(*command, **options):
    """The output of a command that must not fail."""
    done = subprocess.run(list(map(str, command)), capture_output=True, check=False, timeout=600, **options)
    if done.returncode:
        sys.exit(f"{command[0]} failed: {done.stderr.decode()[-500:]}")
    return done.stdout


def python_chess(pgn, out, _):
    """Read and write as python-chess does."""
    with pgn.open(encoding="utf-8") as text, out.open("w", encoding="utf-8") as again:
        while game := chess.pgn.read_game(text):
            print(game, end="\n\n", file=again)


def chessops(pgn, out, js_folder):
    """Read and write as lichess does."""
    out.write_bytes(run("node", THROUGH_JS, "again", pgn.resolve(), cwd=js_folder))


def pgn_extract(pgn, out, _):
    """Read and write as pgn-extract does."""
    run(PGN_EXTRACT, "-s", "--allownullmoves", "-o", out, pgn)


def scid(pgn, out, _):
    """Read and write as Scid does."""
    script = out.with_suffix(".tcl")
    script.write_text(SCID_EXPORT)
    run("xvfb-run", "-a", TKSCID, script, out.with_suffix(""), pgn, out)


PROGRAMS = {"python-chess": python_chess, "chessops": chessops, "pgn-extract": pgn_extract, "Scid": scid}


def holds(name, text):
    """Whether a program takes a game as it is."""
    if b"[%cbdefect" in text or b"[%cbpos" in text:
        return False
    # Scid knows no Chess960, and tells symbols before the first move from none after it.
    return name != "Scid" or not any(tag in text for tag in (b'[Variant "', b"[FEN "))


def imported(cbfs, pgn, at):
    """The games of a new base, exported, without their tags; but with those that say what remarks are."""
    base = at / "new.cbh"
    run(cbfs, "import", "-q", "--create", base, pgn)
    games = split_games(run(cbfs, "export", "-q", base))
    for file in at.glob("new.*"):
        file.unlink()
    return [without_tags(game) for game in games]


def without_tags(game):
    """The moves, and the tags that say what remarks are."""
    tags, moves = game.split(b"\n\n", 1)
    told = [tag for tag in tags.split(b"\n") if tag.startswith((b"[CbhLang", b"[CbhLead", b"[CbhBefore", b"[CbhExact"))]
    return b" ".join([*told, *moves.split()])


def judge(cbfs, js_folder, base):
    """One line for each program; whether all is well."""
    games = split_games(run(cbfs, "export", "-q", base))
    is_good = True
    with tempfile.TemporaryDirectory() as directory:
        at = Path(directory)
        pgn, out = at / "games.pgn", at / "through.pgn"
        for name, through in PROGRAMS.items():
            held = [game for game in games if holds(name, game)]
            if not held:
                continue
            pgn.write_bytes(b"".join(held))
            through(pgn, out, js_folder)
            before, after = imported(cbfs, pgn, at), imported(cbfs, out, at)
            differing = [pair for pair in zip(before, after) if pair[0] != pair[1]]
            lost = len(before) - len(after)
            print(f"{base.stem} through {name}: {len(before)} games, {lost} lost, {len(differing)} with other remarks")
            for was, became in differing[:SHOWN_DIFFERENCES]:
                print(f"  was    {was.decode()}\n  became {became.decode()}")
            is_good &= not lost and not differing
        pgn.write_bytes(b"".join(games))
        refused = run("node", THROUGH_JS, "load", pgn.resolve(), cwd=js_folder).decode()
        counts = run("node", THROUGH_JS, "commands", pgn.resolve(), cwd=js_folder).split()
        commented, showing = map(int, counts)
        print(f"{base.stem}: of {commented} games with comments chessops shows a private command in {showing}", refused)
    return is_good and not refused


def main():
    """Judge each base."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cbfs", type=Path)
    parser.add_argument("js_folder", type=Path)
    parser.add_argument("bases", nargs="+", type=Path)
    arguments = parser.parse_args()
    cbfs = arguments.cbfs.resolve()
    good = [judge(cbfs, arguments.js_folder, base.resolve()) for base in arguments.bases]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
