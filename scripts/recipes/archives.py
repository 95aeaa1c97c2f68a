"""Archives of bases that lie beside them: whole ones, and one whose names lead elsewhere."""

from encoder.archive import archive, enciphered

from . import sample, texts

PASSWORD = b"a knight on the rim"

# More than two blocks, so that parts of blocks and what is after a block are read.
LARGE = "".join(f"{line % 211} {line % 7 * chr(61)}\n" for line in range(9000)).encode()

HOSTILE = (
    "..\\evil.txt",
    "..\\..\\evil.txt",
    "sample.html\\..\\..\\evil.txt",
    "\\evil.txt",
    "\\\\server\\evil.txt",
    "/tmp/evil.txt",
    "../evil.txt",
    "C:\\evil.txt",
    "C:evil.txt",
    "sample.html\\\\evil.txt",
    "sample.html\\",
    "evil\n.txt",
    "evil.txt\\ .",
    "SAMPLE.CBH",
    "sample.cbh\\evil.txt",
    "",
)


def members(case):
    """The files of a base by their names, the headers first."""
    files = [(name.replace("/", "\\"), content) for name, content in case.files().items() if name != "expected.jsonl"]
    return sorted(files, key=lambda file: (not file[0].endswith(".cbh"), file[0]))


def files():
    """Every archive by its name."""
    (one,), (other,) = sample.cases(), texts.cases()
    sample_members = members(one)
    whole = archive(sample_members)
    evil = [(name, b"evil") for name in HOSTILE]
    return {
        "sample.cbv": whole,
        "secret.cbz": enciphered(whole, PASSWORD),
        "texts.cbv": archive([*members(other), ("texts.html\\large.txt", LARGE)]),
        "hostile.cbv": archive([*sample_members, *evil]),
    }
