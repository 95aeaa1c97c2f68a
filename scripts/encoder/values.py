"""Numbers of CBH for dates, opening codes and nations, and their spelling in PGN."""

CHESS960_ECO = 64576  # + start number, in the place of the opening code
NATIONS = {
    "": 0,
    "AUT": 10,
    "CZE": 36,
    "DEN": 37,
    "ENG": 42,
    "ESP": 43,
    "FRA": 49,
    "GER": 53,
    "HUN": 62,
    "ITA": 70,
    "NED": 103,
    "POL": 116,
    "RUS": 121,
    "USA": 147,
    "URS": 149,
}
RESULTS = {"0-1": 0, "1/2-1/2": 1, "1-0": 2, "line": 3, "-:+": 4, "=:=": 5, "+:-": 6, "0-0": 7}
EVENT_KINDS = ["", "game", "match", "tourn", "swiss", "team", "k.o.", "simul", "schev"]
BLITZ, RAPID, CORRESPONDENCE = 32, 64, 128
TEXT_LANGUAGES = {"en": 0, "de": 1, "fr": 2, "es": 3, "it": 4, "nl": 5, "pt": 6, "any": 7}


def date(text):
    """`1858.11.??` as `year << 9 | month << 5 | day`, 0 for what is unknown."""
    if not text:
        return 0
    year, month, day = (int(part.replace("?", "0")) for part in f"{text}.0.0".split(".")[:3])
    return year << 9 | month << 5 | day


def eco(code):
    """`C41` or `C41/05` as a header stores it."""
    if not code:
        return 0
    name, _, sub = code.partition("/")
    return ("ABCDE".index(name[0]) * 100 + int(name[1:]) + 1) << 7 | int(sub or 0)


def spell_eco(number):
    """`(code, sub-code)`; an empty code if the number is none."""
    index = (number >> 7) - 1
    if not 0 <= index < 500:
        return "", 0
    return f"{'ABCDE'[index // 100]}{index % 100:02}", number & 127


def spell_date(text):
    """`1858` as PGN spells it: `1858.??.??`."""
    return ".".join((text.split(".") + ["??", "??"])[:3]) if text else ""


def spell_event_type(kind, team_event):
    """`swiss (blitz)` or `team-match` of a tournament's type byte and team flag."""
    name = EVENT_KINDS[kind & 31]
    if team_event and name != "team":
        name = f"team-{name}" if name else "team"
    words = [name]
    words += [f"({name})" for bit, name in ((BLITZ, "blitz"), (RAPID, "rapid"), (CORRESPONDENCE, "corr")) if kind & bit]
    return " ".join(word for word in words if word)


def spell_round(round_, subround):
    """The Round tag."""
    main = str(round_) if round_ else "?"
    return f"{main}.{subround}" if subround else main
