"""Nested columns between palais and other tools.

    nested.py write DIR    writes one table as Parquet by pyarrow, JSON lines by DuckDB, MessagePack and CBOR by msgpack
                           and cbor2
    nested.py check DIR    reads every file of DIR, which palais wrote, by those tools
"""

import datetime
import pathlib
import sys

import cbor2
import duckdb
import msgpack
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 500

POINT = pa.struct([("x", pa.float64()), ("y y", pa.int64())])
VISIT = pa.struct([("page", pa.string()), ("day", pa.date32()), ("clicks", pa.list_(pa.int64()))])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("tags", pa.list_(pa.string())),
        ("point", POINT),
        ("visits", pa.list_(VISIT)),
        ("grid", pa.list_(pa.list_(pa.bool_()))),
        ("deep", pa.struct([("a", pa.struct([("b", pa.struct([("c", pa.list_(POINT))]))]))])),
    ]
)

# What DuckDB calls the types.
DUCKDB_POINT = 'STRUCT(x DOUBLE, "y y" BIGINT)'
TYPES = {
    "id": "BIGINT",
    "tags": "VARCHAR[]",
    "point": DUCKDB_POINT,
    "visits": "STRUCT(page VARCHAR, day DATE, clicks BIGINT[])[]",
    "grid": "BOOLEAN[][]",
    "deep": f"STRUCT(a STRUCT(b STRUCT(c {DUCKDB_POINT}[])))",
}


def some(i, every, value):
    """A value, or NULL in one of so many rows."""
    return None if i % every == every - 1 else value


def point(i):
    return some(i, 6, {"x": some(i, 4, i * 0.37 - 20), "y y": some(i, 5, i * 7919 - 100)})


def visit(i):
    day = datetime.date(1990, 1, 1) + datetime.timedelta(days=i * 13)
    page = ["", 'a "quoted", page', "grüße 🦀", "line\nline"][i % 4]
    clicks = some(i, 5, [some(k, 3, i - k) for k in range(i % 4)])
    return some(i, 7, {"page": some(i, 6, page), "day": some(i, 4, day), "clicks": clicks})


def row(i):
    return {
        "id": i,
        "tags": some(i, 4, [some(i + k, 5, f"tag {k}") for k in range(i % 3)]),
        "point": point(i),
        "visits": some(i, 9, [visit(i + k) for k in range(i % 5)]),
        "grid": some(i, 8, [some(k, 3, [some(k + n, 3, n % 2 == 0) for n in range(k)]) for k in range(i % 4)]),
        "deep": some(i, 5, {"a": some(i, 4, {"b": some(i, 3, {"c": some(i, 7, [point(i), point(i + 1)])})})}),
    }


def table():
    return pa.Table.from_pylist([row(i) for i in range(ROWS)], SCHEMA)


def spelled(value):
    """A value of MessagePack, which has no dates."""
    if isinstance(value, dict):
        return {name: spelled(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [spelled(inner) for inner in value]
    return value.isoformat() if isinstance(value, datetime.date) else value


def write(directory):
    rows = [row(i) for i in range(ROWS)]
    pq.write_table(table(), directory / "pyarrow.parquet")
    database = duckdb.connect()
    database.register("rows", table())
    database.execute(f"COPY rows TO '{directory}/duckdb.jsonl' (FORMAT json)")
    database.execute(f"COPY rows TO '{directory}/array.json' (FORMAT json, ARRAY true)")
    (directory / "python.msgpack").write_bytes(b"".join(msgpack.packb(spelled(r)) for r in rows))
    (directory / "python.cbor").write_bytes(b"".join(cbor2.dumps(r) for r in rows))


def read(path):
    """The rows of a file, as pyarrow has them."""
    encoding = [s for s in path.suffixes if s not in (".gz", ".zst")][-1]
    if encoding == ".parquet":
        return pq.read_table(path).cast(SCHEMA).to_pylist()
    if encoding == ".jsonl":
        columns = ", ".join(f"'{name}': '{kind}'" for name, kind in TYPES.items())
        source = f"read_json('{path}', columns = {{{columns}}}, format = 'newline_delimited')"
        told = duckdb.sql(f"DESCRIBE SELECT * FROM read_json('{path}')").fetchall()
        # A struct's whole numbers are wider there if one is negative.
        told = {name: kind.replace("HUGEINT", "BIGINT").replace('"day"', "day") for name, kind, *_ in told}
        assert told == TYPES, f"{path}: DuckDB takes it for {told}"
        return duckdb.sql(f"SELECT * FROM {source}").to_arrow_table().cast(SCHEMA).to_pylist()
    with open(path, "rb") as file:
        if encoding == ".msgpack":
            rows = list(msgpack.Unpacker(file))
        else:
            decoder, size, rows = cbor2.CBORDecoder(file), path.stat().st_size, []
            while file.tell() < size:
                rows.append(decoder.decode())
    assert all(list(row) == SCHEMA.names for row in rows), f"{path}: {rows[:1]}"
    return rows


def check(directory):
    paths = sorted(directory.iterdir())
    assert paths, f"no files in {directory}"
    for path in paths:
        found = read(path)
        expected = table().to_pylist()
        if path.suffix == ".msgpack":
            expected = spelled(expected)
        assert len(found) == len(expected), f"{path}: {len(found)} rows"
        for number, (a, b) in enumerate(zip(found, expected, strict=True)):
            assert a == b, f"{path}: row {number} is\n{a!r}, not\n{b!r}"


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
