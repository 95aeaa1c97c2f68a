"""Writer of archives (.cbv, .cbz) as ChessBase makes them, one mode after the other."""

import heapq
import struct
from collections import Counter

BLOCK = 61440
RECORD = struct.Struct("<128sIIIBIIQQQ")


def lz(data):
    """Runs, references and literals; a control word before each sixteen of them."""
    items, at, seen = [], 0, {}
    while at < len(data):
        run = 1
        while run < 4114 and data[at + run : at + run + 1] == data[at : at + 1]:
            run += 1
        before = seen.get(data[at : at + 3])
        length = 0
        if before is not None and 3 <= at - before <= 4098:
            while length < min(271, at - before) and data[before + length : before + length + 1] == data[at + length : at + length + 1]:
                length += 1
        if run >= 3 and run >= length:
            items.append((True, _run(data[at], run)))
        elif length >= 3:
            items.append((True, _reference(length, at - before)))
        else:
            run, length = 1, 0
            items.append((False, data[at : at + 1]))
        step = max(run, length) if items[-1][0] else 1
        for place in range(at, at + step):
            if len(data) - place >= 3:
                seen[data[place : place + 3]] = place
        at += step
    out = b""
    for first in range(0, len(items), 16):
        group = items[first : first + 16]
        control = sum(0x8000 >> place for place, (is_token, _) in enumerate(group) if is_token)
        out += struct.pack("<H", control) + b"".join(item for _, item in group)
    return out


def _run(byte, count):
    if count <= 18:
        return bytes([count - 3, byte])
    return bytes([0x10 | (count - 19) & 15, (count - 19) >> 4, byte])


def _reference(length, distance):
    low, rest = (distance - 3) & 15, (distance - 3) >> 4
    if length <= 15:
        return bytes([length << 4 | low, rest])
    return bytes([0x20 | low, rest, length - 16])


def huffman(data):
    """The best codes, none canonical: the branch of the rarer half is 1 at every other node."""
    counts = Counter(data)
    for value in range(2):
        if len(counts) < 2:
            counts[value] += 0 if value in counts else 1
    while True:
        heap = [(count, value, value) for value, count in sorted(counts.items())]
        heapq.heapify(heap)
        number = 256
        while len(heap) > 1:
            one, other = heapq.heappop(heap), heapq.heappop(heap)
            pair = (one[2], other[2]) if number % 2 else (other[2], one[2])
            heapq.heappush(heap, (one[0] + other[0], number, pair))
            number += 1
        codes, nodes = {}, [(heap[0][2], "")]
        while nodes:
            node, bits = nodes.pop()
            if isinstance(node, tuple):
                nodes += [(node[0], bits + "0"), (node[1], bits + "1")]
            else:
                codes[node] = bits
        if max(map(len, codes.values())) <= 15:
            break
        counts = Counter({value: count // 2 + 1 for value, count in counts.items()})
    bits = "".join(f"{len(codes.get(value, '')):04b}{codes.get(value, '')}" for value in range(256))
    bits += "".join(codes[byte] for byte in data)
    bits += "0" * (-len(bits) % 8)
    return struct.pack(">H", len(data)) + int(bits, 2).to_bytes(len(bits) // 8, "big")


def block(data, mode):
    """One block in this mode; as it is where the mode makes it too long."""
    packed = lz(data) if mode & 1 else data
    packed = huffman(packed) if mode & 2 and len(packed) < 65536 else packed
    payload = bytes([mode]) + packed
    if len(payload) > 65535 or mode & 2 and len(packed) >= 65536:
        payload = b"\0" + data
    even = payload[: len(payload) // 2 * 2]
    check = sum(struct.unpack(f"<{len(even) // 2}H", even)) & 0xFFFF
    return struct.pack("<HH", len(payload), check) + payload


def archive(members, date=20260102, time=3040506):
    """An archive of (name, content) pairs, the mode another one from block to block."""
    table, streams = b"", b""
    start = 8 + len(members) * RECORD.size
    mode = 0
    for name, content in members:
        stream = b""
        for at in range(0, len(content), BLOCK):
            stream += block(content[at : at + BLOCK], mode % 4)
            mode += 1
        numbers = start + len(streams), len(stream), len(content)
        raw = name.encode("cp1252") + b"\0"
        # What the packer had in its memory there: nobody may show it.
        raw += b"leftover" * 16
        table += RECORD.pack(raw[:128], *numbers, 1, date, time, *numbers)
        streams += stream
    return struct.pack("<4H", 8, len(members), RECORD.size, 3) + table + streams


def _permuted(value, width, table):
    return sum((value >> (width - place) & 1) << (len(table) - 1 - at) for at, place in enumerate(table))


IP = [58 - 8 * column + row for row in (0, 2, 4, 6) for column in range(8)]
IP += [57 - 8 * column + row for row in (0, 2, 4, 6) for column in range(8)]
FP = [IP.index(place) + 1 for place in range(1, 65)]
EXPANSION = [(4 * group + place - 1) % 32 + 1 for group in range(8) for place in range(6)]
P = [16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4, 25]
PC1 = [57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36]
PC1 += [63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4]
PC2 = [14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2]
PC2 += [41, 52, 31, 37, 47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32]
SHIFTS = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1]
BOXES = [
    "e4d12fb83a6c59070f74e2d1a6cb953841e8d62bfc973a50fc8249175b3ea06d",
    "f18e6b34972dc05a3d47f28ec01a69b50e7ba4d158c6932fd8a13f42b67c05e9",
    "a09e63f51dc7b428d709346a285ecbf1d6498f30b12c5ae71ad069874fe3b52c",
    "7de3069a1285bc4fd8b56f03472c1ae9a690cb7df13e52843f06a1d8945bc72e",
    "2c417ab6853fd0e9eb2c47d150fa3986421bad78f9c5630eb8c71e2d6f09a453",
    "c1af92680d34e75baf427c9561de0b389ef528c3704a1db6432c95fabe17608d",
    "4b2ef08d3c975a61d0b7491ae35c2f8614bdc37eaf6805926bd814a7950fe23c",
    "d2846fb1a93e50c71fd8a374c56b0e927b419ce206adf35821e74a8dfc90356b",
]


def des(data, key):
    """DES of each eight bytes by themselves (FIPS 46-3)."""
    half = _permuted(int.from_bytes(key, "big"), 64, PC1)
    left, right, keys = half >> 28, half & 0xFFFFFFF, []
    for shift in SHIFTS:
        left = (left << shift | left >> 28 - shift) & 0xFFFFFFF
        right = (right << shift | right >> 28 - shift) & 0xFFFFFFF
        keys.append(_permuted(left << 28 | right, 56, PC2))
    out = b""
    for at in range(0, len(data), 8):
        whole = _permuted(int.from_bytes(data[at : at + 8], "big"), 64, IP)
        left, right = whole >> 32, whole & 0xFFFFFFFF
        for key_bits in keys:
            mixed, substituted = _permuted(right, 32, EXPANSION) ^ key_bits, 0
            for number, box in enumerate(BOXES):
                six = mixed >> 42 - 6 * number & 63
                row, column = six >> 4 & 2 | six & 1, six >> 1 & 15
                substituted = substituted << 4 | int(box[16 * row + column], 16)
            left, right = right, left ^ _permuted(substituted, 32, P)
        out += _permuted(right << 32 | left, 64, FP).to_bytes(8, "big")
    return out


def enciphered(data, password):
    """A .cbz."""
    if len(password) <= 8:
        key = (password * 8)[:8]
    else:
        key = [0] * 8
        for at, byte in enumerate(password):
            key[at % 8] = (key[at % 8] << 1 ^ byte) & 255
    return des(data + b"\0" * (-len(data) % 8), bytes(key))
