#!/usr/bin/env python3
"""Make the sample databases under fixtures/cbh and fixtures/2cbh, the books under fixtures/book and the archives under fixtures/archive, byte for byte as they are committed.

The encoder (scripts/encoder) was written from the layout of the files and shares nothing with cbfs, so that the two
can judge each other. Each base lies beside `expected.jsonl`, each book beside `*.vectors.tsv`: one line per record,
saying what a reader must find. That comes from the recipe (scripts/recipes), not from decoding the base.

    scripts/make-fixtures.py            write them all
    scripts/make-fixtures.py --check    write nothing; exit 1 where a committed file differs
"""

import argparse
import sys
from pathlib import Path

sys.dont_write_bytecode = True

from recipes import (  # noqa: E402
    annotations,
    archives,
    books,
    damage,
    encodings,
    headers,
    kvetka,
    namesakes,
    newer,
    remarks,
    sample,
    starts,
    texts,
)

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


def wanted_files():
    """Every file of every case by its path."""
    files = {}
    for recipe in (sample, annotations, remarks, encodings, starts, headers, namesakes, texts, damage):
        for case in recipe.cases():
            folder = FIXTURES / "cbh" / case.base.name
            files |= {folder / name: content for name, content in case.files().items()}
    for case in newer.cases():
        folder = FIXTURES / "2cbh" / case.base.name
        files |= {folder / name: content for name, content in case.files().items()}
    for case in books.cases():
        folder = FIXTURES / "book" / case.book.name
        files |= {folder / name: content for name, content in case.files().items()}
    files |= {FIXTURES / "book" / name: content for name, content in kvetka.files().items()}
    files |= {FIXTURES / "archive" / name: content for name, content in archives.files().items()}
    return files


def differences(wanted):
    """One line for each file that is missing, different or not ours."""
    folders = [FIXTURES / folder for folder in ("archive", "cbh", "2cbh", "book")]
    present = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
    for path in sorted(present | wanted.keys()):
        if path not in present:
            yield f"{path}: missing"
        elif path not in wanted:
            yield f"{path}: no recipe makes it"
        elif path.read_bytes() != wanted[path]:
            yield f"{path}: differs from its recipe"


def main():
    """Write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with what is there, write nothing")
    arguments = parser.parse_args()

    wanted = wanted_files()
    if arguments.check:
        found = list(differences(wanted))
        print(*found, sep="\n", end="\n" if found else "")
        sys.exit(1 if found else 0)
    for path, content in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    print(f"{len(wanted)} files, {sum(map(len, wanted.values()))} bytes")


if __name__ == "__main__":
    main()
