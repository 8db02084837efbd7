"""Writes the Avro files of this directory by fastavro, and beside them their rows as fastavro reads them back.

    write.py        needs fastavro 1.13, cramjam and backports.zstd

The rows are in `*.jsonl`, spelt as palais spells values of these types in JSON lines.
"""

import datetime
import decimal
import json
import pathlib
import random
import struct
import uuid

import fastavro

HERE = pathlib.Path(__file__).parent
UTC = datetime.timezone.utc
START = datetime.datetime(2024, 2, 29, 13, 14, 15, 500_000)

random.seed(7)


def nullable(kind):
    return ["null", kind]


def logical(kind, name, **more):
    return {"type": kind, "logicalType": name, **more}


def fixed(name, size, **more):
    return {"type": "fixed", "name": name, "size": size, **more}


KINDS = {
    "type": "record",
    "name": "Row",
    "namespace": "org.example",
    "doc": "Every type; \"größe\" is escaped in the JSON of the header.",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "nothing", "type": "null"},
        {"name": "flag", "type": nullable("boolean"), "default": None},
        {"name": "small", "type": "int", "aliases": ["tiny"]},
        {"name": "last", "type": ["int", "null"]},
        {"name": "single", "type": "float"},
        {"name": "double", "type": ["double", "null"]},
        {"name": "text", "type": nullable("string")},
        {"name": "bytes", "type": nullable("bytes")},
        {"name": "fixed", "type": nullable(fixed("Three", 3))},
        {"name": "letter", "type": {"type": "enum", "name": "Letter", "symbols": ["ALPHA", "BETA", "GAMMA"]}},
        {"name": "again", "type": ["Letter", "null"]},
        {"name": "decimal", "type": nullable(logical("bytes", "decimal", precision=12, scale=2))},
        {"name": "wide", "type": fixed("Wide", 16, logicalType="decimal", precision=38, scale=4)},
        {"name": "uuid", "type": nullable(logical("string", "uuid"))},
        {"name": "day", "type": nullable(logical("int", "date"))},
        {"name": "time_ms", "type": logical("int", "time-millis")},
        {"name": "time_us", "type": nullable(logical("long", "time-micros"))},
        {"name": "ts_ms", "type": logical("long", "timestamp-millis")},
        {"name": "ts_us", "type": nullable(logical("long", "timestamp-micros"))},
        {"name": "local_ms", "type": nullable(logical("long", "local-timestamp-millis"))},
        {"name": "local_us", "type": logical("long", "local-timestamp-micros")},
        {"name": "span", "type": nullable(fixed("Span", 12, logicalType="duration"))},
        {"name": "items", "type": {"type": "array", "items": "long"}},
        {"name": "words", "type": nullable({"type": "array", "items": ["string", "null"]})},
        {"name": "letters", "type": {"type": "array", "items": "Letter"}},
        {"name": "counts", "type": {"type": "map", "values": "int"}},
        {"name": "names", "type": nullable({"type": "map", "values": nullable("string")})},
        {
            "name": "point",
            "type": nullable(
                {
                    "type": "record",
                    "name": "Point",
                    "fields": [
                        {"name": "x", "type": "double"},
                        {"name": "label", "type": nullable("org.example.Letter")},
                        {"name": "tags", "type": {"type": "array", "items": "string"}},
                    ],
                }
            ),
        },
        {"name": "points", "type": {"type": "array", "items": "Point"}},
    ],
}


def point(i):
    return {"x": i / 4 + 1 / 16, "label": [None, "BETA"][i % 2], "tags": [f"tag {n}, long enough" for n in range(i % 3)]}


def row(i):
    moment = START + datetime.timedelta(days=i * 37, milliseconds=i * 7)
    micros = moment + datetime.timedelta(microseconds=i)
    some = lambda value, every: None if i % every == 0 else value
    return {
        "id": i * 1_000_003 - 5,
        "nothing": None,
        "flag": some(i % 2 == 0, 5),
        "small": [0, -1, 2**31 - 1, -(2**31)][i % 4],
        "last": some(i, 3),
        "single": i / 8 + 1 / 16,
        "double": some(i * -1.25 + 1 / 16, 4),
        "text": some("größe " * (i % 5) + str(i), 6),
        "bytes": some(bytes([0, i, 255]), 4),
        "fixed": some(bytes([i, 1, 2]), 3),
        "letter": ["ALPHA", "BETA", "GAMMA"][i % 3],
        "again": some(["GAMMA", "ALPHA"][i % 2], 4),
        "decimal": some(decimal.Decimal(i * 12_345 - 100_000).scaleb(-2), 5),
        "wide": decimal.Decimal((-1) ** i * i * 10**30 + 1).scaleb(-4),
        "uuid": some(uuid.UUID(int=random.getrandbits(128)), 7),
        "day": some(moment.date(), 5),
        "time_ms": moment.time(),
        "time_us": some(micros.time(), 4),
        "ts_ms": moment.replace(tzinfo=UTC),
        "ts_us": some(micros.replace(tzinfo=UTC), 3),
        "local_ms": some(moment, 4),
        "local_us": micros,
        "span": some(struct.pack("<III", i, 2, 3_500), 3),
        "items": list(range(i % 4)),
        "words": some([some(f"word {n}", 2) for n in range(i % 3)], 7),
        "letters": ["GAMMA"] * (i % 3),
        "counts": {f"k{n}": n for n in range(i % 3)},
        "names": some({f"n{n}": [None, "a name of some length"][n % 2] for n in range(i % 4)}, 5),
        "point": some(point(i), 3),
        "points": [point(n) for n in range(i % 3)],
    }


NAMESPACES = {
    "type": "record",
    "name": "a.b.Outer",
    "fields": [
        {
            "name": "first",
            "type": {
                "type": "record",
                "name": "Inner",
                "fields": [{"name": "v", "type": {"type": "enum", "name": "c.E", "symbols": ["X", "Y"]}}],
            },
        },
        {"name": "second", "type": "Inner"},
        {"name": "third", "type": ["null", "a.b.Inner"]},
        {"name": "fourth", "type": "c.E"},
    ],
}

RECURSIVE = {
    "type": "record",
    "name": "Node",
    "fields": [{"name": "value", "type": "int"}, {"name": "next", "type": ["null", "Node"]}],
}

UNION = {
    "type": "record",
    "name": "Row",
    "fields": [{"name": "id", "type": "int"}, {"name": "either", "type": ["null", "int", "string"]}],
}


def fraction(moment, digits):
    return f".{moment.microsecond:06}"[: 1 + digits] if moment.microsecond else ""


def spelt(value, name):
    """A value in JSON as palais spells it."""
    digits = 3 if name.endswith("_ms") else 6
    match value:
        case None:
            return "null"
        case bytes() if name == "span":
            months, days, ms = struct.unpack("<III", value)
            years, months = divmod(months, 12)
            parts = [(years, "year"), (months, "month"), (days, "day")]
            words = [f"{n} {word}{'s' if n != 1 else ''}" for n, word in parts if n]
            return json.dumps(" ".join([*words, f"00:00:{ms // 1000:02}" + (f".{ms % 1000:03}".rstrip("0"))]))
        case bytes():
            return json.dumps("\\x" + value.hex())
        case decimal.Decimal():
            return f"{value:f}"
        case uuid.UUID():
            return json.dumps(str(value))
        case datetime.datetime():
            text = value.strftime("%Y-%m-%dT%H:%M:%S") + fraction(value, digits)
            return json.dumps(text + ("Z" if value.tzinfo else ""))
        case datetime.time():
            return json.dumps(value.strftime("%H:%M:%S") + fraction(value, digits))
        case datetime.date():
            return json.dumps(value.isoformat())
        case dict():
            pairs = [f"{json.dumps(key)}:{spelt(item, key)}" for key, item in value.items()]
            return "{" + ",".join(pairs) + "}"
        case list():
            return "[" + ",".join(spelt(item, "") for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def write(name, schema, rows, codec="null", interval=2_000, said=None):
    path = HERE / f"{name}.avro"
    with path.open("wb") as out:
        fastavro.writer(
            out, fastavro.parse_schema(schema), rows, codec=codec, sync_interval=interval, sync_marker=b"0123456789abcdef"
        )
    with path.open("rb") as file:
        read = list(fastavro.reader(file))
    if said:
        lines = [spelt(one, "") + "\n" for one in read]
        (HERE / f"{said}.jsonl").write_text("".join(lines))


def main():
    rows = [row(i) for i in range(40)]
    for codec in ["null", "deflate", "snappy", "zstandard", "bzip2"]:
        write(f"kinds-{codec}", KINDS, rows, codec, said="kinds")
    write("empty", KINDS, [])
    inner = lambda v: {"v": v}
    namespaces = [
        {"first": inner("X"), "second": inner("Y"), "third": None, "fourth": "X"},
        {"first": inner("Y"), "second": inner("X"), "third": inner("Y"), "fourth": "Y"},
    ]
    write("namespaces", NAMESPACES, namespaces, said="namespaces")
    write("recursive", RECURSIVE, [{"value": 1, "next": {"value": 2, "next": None}}])
    write("union", UNION, [{"id": 1, "either": 2}, {"id": 2, "either": "x"}])
    nulls = {"type": "record", "name": "Row", "fields": [{"name": "nothing", "type": "null"}]}
    write("nulls", nulls, [{"nothing": None}] * 3)


main()
