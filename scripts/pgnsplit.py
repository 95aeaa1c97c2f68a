#!/usr/bin/env python3
"""Split a PGN file into its games, byte for byte.

scripts/pgnsplit.py ALL.pgn DIRECTORY     writes DIRECTORY/000001.pgn and so on
"""

import sys
from pathlib import Path


def split_games(data):
    """The games of a PGN as bytes, each from its first tag to the byte before the next one's.

    A line that begins with `[` is a tag unless a comment is open, and the first tag after movetext begins a game.
    """
    games, start, at = [], 0, 0
    in_comment = in_movetext = False
    for line in data.splitlines(keepends=True):
        if line.startswith(b"[") and not in_comment:
            if in_movetext:
                games.append(data[start:at])
                start, in_movetext = at, False
        elif line.strip():
            in_movetext = True
            in_comment = _comment_open_after(line, in_comment)
        at += len(line)
    if data[start:].strip():
        games.append(data[start:])
    return games


def _comment_open_after(line, in_comment):
    """Comments do not nest, so the last brace decides."""
    opened, closed = line.rfind(b"{"), line.rfind(b"}")
    return in_comment if opened == closed else opened > closed


def main():
    """Write one file for each game."""
    source, target = map(Path, sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    for number, game in enumerate(split_games(source.read_bytes()), 1):
        (target / f"{number:06}.pgn").write_bytes(game)


if __name__ == "__main__":
    main()
