"""Encodings whose values carry their kind, between palais and other tools.

    binary.py write DIR    writes the table of `columns.py` by msgpack and cbor2, rows as arrays and as maps
    binary.py check DIR    reads every file of DIR, which palais wrote, by msgpack and cbor2
"""

import datetime
import pathlib
import sys

import cbor2
import msgpack
import numpy

from columns import table

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
LOCAL = {"ms", "us", "ns"}


def moment(value, unit):
    """A timestamp without a zone as text."""
    return str(numpy.datetime64(value, unit))


def rows(of, value):
    """The rows of a table; `value` makes what is written of what lies in a column of this name."""
    columns = []
    for name in of.column_names:
        column = of[name]
        whole = column.cast("int64") if name in LOCAL | {"zoned"} else column
        columns.append([None if v is None else value(name, v) for v in whole.to_pylist()])
    return [list(row) for row in zip(*columns, strict=True)]


def as_msgpack(name, value):
    if name in LOCAL:
        return moment(value, name)
    if name == "zoned":
        return msgpack.Timestamp(value // 1_000_000, value % 1_000_000 * 1000)
    return str(value) if name in ("decimal", "date") else value


def as_cbor(name, value):
    if name in LOCAL:
        return moment(value, name)
    return EPOCH + datetime.timedelta(microseconds=value) if name == "zoned" else value


def write(directory):
    of = table()
    for kind, value, dumps in [("msgpack", as_msgpack, msgpack.packb), ("cbor", as_cbor, cbor2.dumps)]:
        arrays = rows(of, value)
        (directory / f"arrays.{kind}").write_bytes(b"".join(dumps(row) for row in arrays))
        maps = [dict(zip(of.column_names, row, strict=True)) for row in arrays]
        (directory / f"maps.{kind}").write_bytes(b"".join(dumps(row) for row in maps))
        (directory / f"list-maps.{kind}").write_bytes(dumps(maps))
        (directory / f"list-arrays.{kind}").write_bytes(dumps(arrays))


def read(path):
    with open(path, "rb") as file:
        if path.suffix == ".msgpack":
            yield from msgpack.Unpacker(file)
            return
        decoder = cbor2.CBORDecoder(file)
        size = path.stat().st_size
        while file.tell() < size:
            yield decoder.decode()


def same(name, found, expected):
    """Whether a value is the one that was written, in whichever of its forms."""
    if name in LOCAL:
        return found is expected is None or numpy.datetime64(found, "ns") == numpy.datetime64(expected, "ns")
    if name in ("decimal", "date"):
        return found is expected is None or str(found).rstrip("0") == str(expected).rstrip("0")
    return found == expected or found != found and expected != expected


def check(directory):
    of = table()
    for path in sorted(directory.iterdir()):
        expected = rows(of, as_msgpack if path.suffix == ".msgpack" else as_cbor)
        found = list(read(path))
        assert len(found) == len(expected), f"{path}: {len(found)} rows"
        if path.stem == "maps":
            assert all(list(one) == of.column_names for one in found), f"{path}: {list(found[0])}"
            found = [list(one.values()) for one in found]
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            for name, a, b in zip(of.column_names, one, other, strict=True):
                assert same(name, a, b), f"{path}: row {number} of {name} is {a!r}, not {b!r}"


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
