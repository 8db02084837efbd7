"""Column formats between palais and other tools.

    columns.py write DIR    writes the table as Parquet and Arrow by pyarrow and DuckDB, in many ways
    columns.py check DIR    reads every file of DIR, which palais wrote, by pyarrow and DuckDB

The table is made by the same rules in `formats/tests/interop.rs`: a value depends on the row's number only.
"""

import decimal
import pathlib
import struct
import sys

import duckdb
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

ROWS = 3000
ZONE = "+02:00"


def integer(i, bits, signed):
    """The extremes in rows 0 and 1 of 10, else something in between."""
    low = -(1 << bits - 1) if signed else 0
    high = low + (1 << bits) - 1
    return low if i % 10 == 0 else high if i % 10 == 1 else low + i * 7919 % (1 << bits)


def real(i):
    special = {0: float("nan"), 1: float("inf"), 2: float("-inf"), 4: -0.0}
    return special.get(i % 11, i * 0.25 - 100)


def text(i):
    cases = {0: "", 1: "a\0", 2: "grüße, 世界 — and a tail that is long", 4: "twelve bytes"}
    return cases.get(i % 9, f"{i % 254}.{i % 253}.{i % 251}.{i % 250}")


def micros(i):
    """Moments from 1938 to 2001, to the microsecond."""
    return (i - 1500) * 666_666_666_667


def table():
    fields = [
        ("bool", pa.bool_(), lambda i: i % 3 == 0),
        ("i8", pa.int8(), lambda i: integer(i, 8, True)),
        ("i16", pa.int16(), lambda i: integer(i, 16, True)),
        ("i32", pa.int32(), lambda i: integer(i, 32, True)),
        ("i64", pa.int64(), lambda i: integer(i, 64, True)),
        ("u8", pa.uint8(), lambda i: integer(i, 8, False)),
        ("u16", pa.uint16(), lambda i: integer(i, 16, False)),
        ("u32", pa.uint32(), lambda i: integer(i, 32, False)),
        ("u64", pa.uint64(), lambda i: integer(i, 64, False)),
        ("f32", pa.float32(), real),
        ("f64", pa.float64(), real),
        ("decimal", pa.decimal128(38, 7), lambda i: decimal.Decimal(integer(i, 64, True)).scaleb(-7)),
        ("date", pa.date32(), lambda i: i * 17 % 40_000 - 20_000),
        ("ms", pa.timestamp("ms"), lambda i: micros(i) // 1000),
        ("us", pa.timestamp("us"), micros),
        ("ns", pa.timestamp("ns"), lambda i: micros(i) * 1000 + i),
        ("zoned", pa.timestamp("us", ZONE), micros),
        ("text", pa.string(), text),
        ("bytes", pa.binary(), lambda i: bytes([i % 256]) * (i % 20)),
        ("word", pa.string(), lambda i: f"a word of a small dictionary {i * 7 % 20}"),
    ]
    columns = {name: pa.array([None if i % 7 == 3 else of(i) for i in range(ROWS)], kind) for name, kind, of in fields}
    columns["nothing"] = pa.nulls(ROWS, pa.int32())
    columns["number"] = pa.array(range(ROWS), pa.int64())
    return pa.table(columns)


def with_types(of, changes):
    """The table with columns cast to other types."""
    for name, kind in changes.items():
        of = of.set_column(of.column_names.index(name), name, of[name].cast(kind))
    return of


def write(directory):
    whole = table()
    words = pa.dictionary(pa.int32(), pa.string())
    odd = with_types(whole, {"text": pa.large_string(), "word": words, "bytes": pa.large_binary()})
    views = with_types(whole, {"text": pa.string_view(), "word": pa.string_view(), "bytes": pa.binary_view()})
    ways = {
        "plain": (whole, {"compression": "none", "use_dictionary": False}),
        "snappy": (whole, {"compression": "snappy", "row_group_size": 700}),
        "gzip": (whole, {"compression": "gzip", "data_page_version": "2.0"}),
        "lz4": (whole, {"compression": "lz4", "data_page_size": 1000, "write_page_index": True}),
        "zstd": (whole, {"compression": "zstd", "write_statistics": False}),
        "brotli": (whole, {"compression": "brotli", "store_schema": False}),
        "int96": (whole.drop_columns(["ns"]), {"use_deprecated_int96_timestamps": True}),
        "odd": (odd, {}),
        "views": (views, {}),
        "delta": (
            whole,
            {
                "use_dictionary": False,
                "column_encoding": {
                    "i32": "DELTA_BINARY_PACKED",
                    "i64": "DELTA_BINARY_PACKED",
                    "f64": "BYTE_STREAM_SPLIT",
                    "text": "DELTA_BYTE_ARRAY",
                    "bytes": "DELTA_LENGTH_BYTE_ARRAY",
                },
            },
        ),
        "checksums": (whole, {"write_page_checksum": True}),
    }
    for name, (rows, options) in ways.items():
        pq.write_table(rows, directory / f"pyarrow-{name}.parquet", **options)
    for name, rows in {"plain": whole, "odd": odd, "views": views}.items():
        for compression in [None, "lz4", "zstd"]:
            options = pa.ipc.IpcWriteOptions(compression=compression, unify_dictionaries=True)
            kind = f"{name}-{compression or 'none'}"
            with pa.ipc.new_file(directory / f"pyarrow-{kind}.arrow", rows.schema, options=options) as out:
                out.write_table(rows, max_chunksize=1100)
            with pa.ipc.new_stream(directory / f"pyarrow-{kind}.arrows", rows.schema, options=options) as out:
                out.write_table(rows, max_chunksize=1100)
    database = duckdb.connect()
    database.register("whole", whole)
    # In V2 DuckDB delta-encodes 32-bit extremes with more than 32 bits, which pyarrow and arrow-rs refuse to read.
    for version, columns in {"V1": "*", "V2": "* EXCLUDE (i32, u32)"}.items():
        for compression in ["uncompressed", "snappy", "zstd"]:
            path = directory / f"duckdb-{compression}-{version}.parquet"
            options = f"FORMAT parquet, COMPRESSION {compression}, PARQUET_VERSION {version}"
            database.execute(f"COPY (SELECT {columns} FROM whole) TO '{path}' ({options})")


def plain(column):
    """Values that compare: bits of floats, numbers of dates and timestamps."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_date32(kind):
        column = column.cast(pa.int32())
    values = column.to_pylist()
    if pa.types.is_floating(kind):
        values = [v if v is None or v != v else struct.pack("<d", v) for v in values]
        values = ["nan" if isinstance(v, float) else v for v in values]
    return values


def compare(path, tool, found):
    expected = table()
    assert found.column_names == expected.column_names, f"{path}, {tool}: columns {found.column_names}"
    for name in expected.column_names:
        same = found[name].cast(expected[name].type)
        for row, (a, b) in enumerate(zip(plain(expected[name]), plain(same), strict=True)):
            assert a == b, f"{path}, {tool}: row {row} of {name} is {b!r}, not {a!r}"


def check(directory):
    paths = sorted(directory.iterdir())
    assert paths, f"no files in {directory}"
    for path in paths:
        if path.suffix == ".arrow":
            with pa.ipc.open_file(path) as file:
                compare(path, "pyarrow", file.read_all())
        else:
            compare(path, "pyarrow", pq.read_table(path))
            compare(path, "DuckDB", duckdb.sql(f"SELECT * FROM read_parquet('{path}')").to_arrow_table())


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
