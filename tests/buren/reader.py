"""A reader of buren files in plain Python, written from docs/buren-format.md and nothing else: slow, and the proof that
the page says enough.

    python reader.py FILE

prints the columns and rows of a file as JSON lines: first [name, type] of each column, then each row as a list. Bytes are
hexadecimal, floats the bits of their 64-bit form in hexadecimal (of the type's own width for f16), wider intervals, lists and structs lists,
numbers that 64 bits don't hold text.

Compressions: zlib and gzip are Python's own; snappy, LZ4 and Zstandard come from pyarrow."""

import gzip
import json
import struct
import sys
import zlib

MASK64 = 2**64 - 1


class Damaged(Exception):
    pass


def need(condition, why):
    if not condition:
        raise Damaged(why)


class Input:
    """Numbers one after the other."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        need(self.at + n <= len(self.data), "it ends too early")
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, size, signed=False):
        return int.from_bytes(self.take(size), "little", signed=signed)

    def text(self):
        return self.take(self.number(2)).decode()


SIMPLE = {
    0: ("bool", 0), 1: ("i8", 1), 2: ("i16", 2), 3: ("i32", 4), 4: ("i64", 8), 5: ("u8", 1), 6: ("u16", 2),
    7: ("u32", 4), 8: ("u64", 8), 9: ("f32", 4), 10: ("f64", 8), 11: ("date", 4), 12: ("text", 0), 13: ("bytes", 0),
    18: ("f16", 2), 19: ("date ms", 8), 20: ("time s", 4), 21: ("time ms", 4), 22: ("time us", 8), 23: ("time ns", 8),
    24: ("duration s", 8), 25: ("duration ms", 8), 26: ("duration us", 8), 27: ("duration ns", 8),
    28: ("interval months", 4), 29: ("interval days ms", 8), 30: ("interval months days ns", 16),
}


def read_type(i):
    tag = i.number(1)
    if tag in (14, 16):
        precision, scale = i.number(1), i.number(1, signed=True)
        return f"decimal {precision} {scale}", 16 if tag == 14 else 32
    if tag == 15:
        unit, zoned = "s ms us ns".split()[i.number(1)], i.number(1)
        return f"timestamp {unit}" + (f" {i.text()}" if zoned else ""), 8
    if tag == 17:
        return f"bytes of {i.number(4)}", 0
    if tag == 31:
        return ("list", read_column(i)), 0
    if tag == 32:
        return ("struct", *(read_column(i) for _ in range(i.number(4)))), 0
    need(tag in SIMPLE, f"type {tag}")
    return SIMPLE[tag]


def read_column(i):
    return i.text(), i.number(1), *read_type(i)


def decompress(codec, data, raw):
    if codec == 0:
        out = data
    elif codec == 3:
        out = gzip.decompress(data)
    elif codec == 4:
        out = zlib.decompress(data)
    else:
        import pyarrow

        name = {1: "snappy", 2: "lz4_raw", 5: "zstd"}[codec]
        out = pyarrow.decompress(data, decompressed_size=raw, codec=name).to_pybytes()
    need(len(out) == raw, "a buffer of another length")
    return out


ORDER = [0, 4, 2, 6, 1, 5, 3, 7]


class Chunk:
    def __init__(self, data):
        length = int.from_bytes(data[:4], "little")
        self.i = Input(data[4 : 4 + length])
        self.data, self.at = data, -(-(4 + length) // 8) * 8

    def buffer(self):
        codec, raw, stored = self.i.number(1), self.i.number(4), self.i.number(4)
        data = self.data[self.at : self.at + stored]
        need(len(data) == stored, "a buffer that is not there")
        self.at += -(-stored // 8) * 8
        return decompress(codec, data, raw)

    def column(self, kind, width, n):
        validity = self.i.number(1)
        valid = [True] * n
        if validity == 1:
            valid = bits(self.buffer(), n)
        elif validity == 2:
            for row in self.integers(4, self.i.number(4)):
                valid[row] = False
        elif validity == 3:
            return [None] * n
        else:
            need(validity == 0, f"validity {validity}")
        values = self.values(kind, width, n)
        need(len(values) == n, "another number of values")
        return [v if ok else None for v, ok in zip(values, valid)]

    def values(self, kind, width, n):
        if kind[0] == "list":
            count, (_, _, kind, width) = self.i.number(4), kind[1]
            lengths = self.integers(4, n)
            items = self.column(kind, width, count)
            need(sum(lengths) == count, "lists of another number of items")
            return cut(items, lengths)
        if kind[0] == "struct":
            columns = [self.column(kind, width, n) for _, _, kind, width in kind[1:]]
            return [list(row) for row in zip(*columns)] if columns else [[]] * n
        if kind == "bool":
            tag = self.i.number(1)
            return [bool(self.i.number(1))] * n if tag == 0 else bits(self.buffer(), n)
        if kind in ("f32", "f64"):
            return self.floats(width, n)
        if kind == "text":
            return [v.decode() for v in self.texts(n)]
        if width == 0:
            return self.texts(n)
        if width > 8:
            tag = self.i.number(1)
            if tag == 0:
                return [self.i.take(width)] * n
            if tag == 1:
                data = self.buffer()
                return [data[k * width : (k + 1) * width] for k in range(n)]
            need(tag == 2, f"wide {tag}")
            return [signed(v, 8).to_bytes(width, "little", signed=True) for v in self.integers(8, n)]
        return [v.to_bytes(width, "little") for v in self.integers(width, n)]

    def integers(self, size, n):
        """Unsigned numbers of `size` bytes."""
        tag = self.i.number(1)
        if tag == 0:
            return [self.i.number(size)] * n
        if tag == 1:
            return numbers(self.buffer(), size, n)
        if tag == 2:
            return self.packed(size, n)
        if tag == 3:
            count = self.i.number(4)
            lengths, values = self.integers(4, count), self.integers(size, count)
            return [v for length, v in zip(lengths, values) for _ in range(length)]
        need(tag == 4, f"integers {tag}")
        count = self.i.number(4)
        places, entries = self.integers(2, n), self.integers(size, count)
        return [entries[p] for p in places]

    def packed(self, size, n):
        heads, data = Input(self.buffer()), self.buffer()
        blocks = -(-n // 1024)
        widths = [heads.number(1) for _ in range(blocks)]
        bases = [heads.number(size) for _ in range(blocks)]
        steps = [heads.number(size) if w & 128 else None for w in widths]
        mask = 2 ** (8 * size) - 1
        out, at = [], 0
        for block, (width, base, step) in enumerate(zip(widths, bases, steps)):
            width &= 127
            count = min(1024, n - 1024 * block)
            length = 128 * width if count == 1024 else -(-count * width // 8)
            offsets = unpack(data[at : at + length], 8 * size, width, count)
            at += length
            if step is None:
                out += [base + o & mask for o in offsets]
            else:
                value = base
                out.append(value)
                for o in offsets[1:]:
                    value = value + step + o & mask
                    out.append(value)
        need(at == len(data), "packed data of another length")
        return out

    def floats(self, size, n):
        tag = self.i.data[self.i.at]
        if tag < 8:
            return [v.to_bytes(size, "little") for v in self.integers(size, n)]
        self.i.take(1)
        if tag == 10:
            right = self.i.number(1)
            left, rest = self.integers(2, n), self.integers(size, n)
            return [(a << right | b).to_bytes(size, "little") for a, b in zip(left, rest)]
        need(tag in (8, 9), f"floats {tag}")
        divisor = float((10 if tag == 8 else 2) ** self.i.number(1))
        form = "<f" if size == 4 else "<d"
        out = [struct.pack(form, float(signed(v, size)) / divisor) for v in self.integers(size, n)]
        count = self.i.number(4)
        for row, value in zip(self.integers(4, count), self.integers(size, count)):
            out[row] = value.to_bytes(size, "little")
        return out

    def texts(self, n):
        tag = self.i.number(1)
        if tag == 0:
            return [self.buffer()] * n
        if tag == 1:
            lengths = self.integers(4, n)
            return cut(self.buffer(), lengths)
        if tag == 2:
            alphabet = self.i.take(self.i.number(1))
            s, lengths, out = len(alphabet), self.integers(4, n), bytearray()
            for four in self.integers(4, -(-sum(lengths) // 4)):
                out += bytes(alphabet[four // s**k % s] for k in (3, 2, 1, 0))
            return cut(bytes(out), lengths)
        if tag == 3:
            return [".".join(str(b) for b in v.to_bytes(4, "big")).encode() for v in self.integers(4, n)]
        if tag == 4:
            sizes = list(self.i.take(self.i.number(1)))
            symbols = [self.i.take(size) for size in sizes]
            lengths = self.integers(4, n)
            return [expand(codes, symbols) for codes in cut(self.buffer(), lengths)]
        if tag == 5:
            count = self.i.number(4)
            places, entries = self.integers(2, n), self.texts(count)
            return [entries[p] for p in places]
        if tag == 6:
            count = self.i.number(4)
            lengths, values = self.integers(4, count), self.texts(count)
            return [v for length, v in zip(lengths, values) for _ in range(length)]
        need(tag == 7, f"texts {tag}")
        count, others = self.i.number(4), self.i.number(4)
        places, entries, rest = self.integers(2, n), self.texts(count), iter(self.texts(others))
        return [next(rest) if p == count else entries[p] for p in places]


def bits(data, n):
    return [bool(data[k // 8] >> k % 8 & 1) for k in range(n)]


def numbers(data, size, n):
    need(len(data) == size * n, "plain values of another length")
    return [int.from_bytes(data[k * size : (k + 1) * size], "little") for k in range(n)]


def signed(value, size):
    return value - (1 << 8 * size) if value >> 8 * size - 1 else value


def cut(data, lengths):
    out, at = [], 0
    for length in lengths:
        out.append(data[at : at + length])
        at += length
    return out


def expand(codes, symbols):
    out, k = bytearray(), 0
    while k < len(codes):
        if codes[k] == 255:
            k += 1
            out.append(codes[k])
        else:
            out += symbols[codes[k]]
        k += 1
    return bytes(out)


def unpack(data, word, width, count):
    mask = (1 << width) - 1
    if count < 1024:
        whole = int.from_bytes(data, "little")
        return [whole >> k * width & mask for k in range(count)]
    lanes, size = 1024 // word, word // 8
    out = [0] * 1024
    for lane in range(lanes):
        whole = 0
        for k in range(width):
            at = (k * lanes + lane) * size
            whole |= int.from_bytes(data[at : at + size], "little") << k * word
        for r in range(word):
            out[ORDER[r // 8] * 16 + r % 8 * 128 + lane] = whole >> r * width & mask
    return out


def mix(h):
    h ^= h >> 33
    h = h * 0xFF51AFD7ED558CCD & MASK64
    h ^= h >> 33
    h = h * 0xC4CEB9FE1A85EC53 & MASK64
    return h ^ h >> 33


def hash_of(value, fixed):
    if fixed:
        return mix(int.from_bytes(value, "little"))
    h = len(value)
    for k in range(0, len(value), 8):
        word = int.from_bytes(value[k : k + 8], "little")
        h = ((h << 5 | h >> 59) & MASK64 ^ word) * 0x9E3779B97F4A7C15 & MASK64
    return mix(h)


def add(sketch, value, fixed):
    h = hash_of(value, fixed)
    sketch[h % 256] = max(sketch[h % 256], 57 - (h >> 8).bit_length())


def shown(kind, value):
    if value is not None and kind[0] == "list":
        return [shown(kind[1][2], v) for v in value]
    if value is not None and kind[0] == "struct":
        return [shown(field[2], v) for field, v in zip(kind[1:], value)]
    if value is None or isinstance(value, (bool, str)):
        return value
    if kind.startswith("bytes") or kind == "f16":
        return value.hex()
    if kind in ("f32", "f64"):
        return struct.pack(">d", struct.unpack("<f" if kind == "f32" else "<d", value)[0]).hex()
    if kind == "interval days ms":
        return list(struct.unpack("<ii", value))
    if kind == "interval months days ns":
        return list(struct.unpack("<iiq", value))
    number = int.from_bytes(value, "little", signed=not kind.startswith("u"))
    return number if -(2**63) <= number < 2**64 else str(number)


def read(path):
    data = open(path, "rb").read()
    need(data[:8] == data[-8:] == b"BUREN\0\1\0", "not a buren file of version 1")
    checksum, length = struct.unpack("<II", data[-16:-8])
    footer = data[len(data) - 16 - length : -16]
    need(zlib.crc32(footer) == checksum, "the footer's checksum")
    i = Input(footer)
    columns = [read_column(i) for _ in range(i.number(4))]
    rows, sketches = [], [[0] * 256 for _ in columns]
    for _ in range(i.number(4)):
        n, group = i.number(4), []
        for (name, nullable, kind, width), sketch in zip(columns, sketches):
            offset, stored, raw = i.number(8), i.number(4), i.number(8)
            checksum, nulls, _distinct, zone = i.number(4), i.number(4), i.number(4), i.number(1)
            size = lambda: 1 if kind == "bool" else width or i.number(1)
            limits = [i.take(size()) if zone & flag else None for flag in (1, 2)]
            need(offset % 64 == 0, "a chunk that is not aligned")
            chunk = data[offset : offset + stored]
            need(zlib.crc32(chunk) == checksum, f"the checksum of {name}")
            chunk = Chunk(chunk)
            values = chunk.column(kind, width, n)
            need(chunk.i.at == len(chunk.i.data), "a description that goes on")
            need(values.count(None) == nulls and (nullable or not nulls), "another number of NULLs")
            group.append([shown(kind, v) for v in values])
            if isinstance(kind, tuple):
                need(zone == 0, "a zone of what has no order")
                continue
            some = [v.encode() if isinstance(v, str) else bytes([v]) if isinstance(v, bool) else v
                    for v in values if v is not None]
            expected = -(-len(some) // 8) if kind == "bool" else width * len(some) or sum(map(len, some))
            need(raw == expected, f"{raw} bytes of {name}, not {expected}")
            for value in some:
                add(sketch, value, kind == "bool" or 0 < width <= 8)
            check_limits(kind, some, limits)
        rows += zip(*group) if group else []
    need([list(i.take(256)) for _ in columns] == sketches, "other sketches")
    need(i.at == len(footer), "a footer that goes on")
    return [(name, kind) for name, _, kind, _ in columns], rows


def check_limits(kind, values, limits):
    """The zone map against the values, for types whose order is that of numbers or of bytes."""
    if kind.startswith(("interval", "f16", "f32", "f64")) or not values:
        return
    if kind not in ("text", "bytes", "bool") and not kind.startswith("bytes"):
        order = lambda v: int.from_bytes(v, "little", signed=not kind.startswith("u"))
    else:
        order = bytes
    for limit, extreme in zip(limits, (min(values, key=order), max(values, key=order))):
        need(limit == extreme or limit is None and len(extreme) > 128, f"another zone of {kind}")


def main():
    columns, rows = read(sys.argv[1])
    print(json.dumps(columns, ensure_ascii=False))
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main()
