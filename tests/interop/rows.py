"""Row encodings between palais and other tools.

    rows.py write DIR    writes the table of `columns.py` as csv and JSON lines by DuckDB and pyarrow
    rows.py check DIR    reads every file of DIR, which palais wrote, by DuckDB and pyarrow

Bytes are `\\x` and hexadecimal digits in text, which other tools read as text: here they are made and undone by hand.
"""

import pathlib
import sys

import duckdb
import pyarrow as pa
import pyarrow.csv

from columns import plain, table

# What DuckDB calls the types.
TYPES = {
    "bool": "BOOLEAN",
    "i8": "TINYINT",
    "i16": "SMALLINT",
    "i32": "INTEGER",
    "i64": "BIGINT",
    "u8": "UTINYINT",
    "u16": "USMALLINT",
    "u32": "UINTEGER",
    "u64": "UBIGINT",
    "f32": "FLOAT",
    "f64": "DOUBLE",
    "decimal": "DECIMAL(38, 7)",
    "date": "DATE",
    "ms": "TIMESTAMP_MS",
    "us": "TIMESTAMP",
    "ns": "TIMESTAMP_NS",
    "zoned": "TIMESTAMP WITH TIME ZONE",
    "text": "VARCHAR",
    "bytes": "VARCHAR",
    "word": "VARCHAR",
    "nothing": "INTEGER",
    "number": "BIGINT",
}


def hex_bytes(of):
    """The table with its bytes as text."""
    texts = [None if v is None else "\\x" + v.hex() for v in of["bytes"].to_pylist()]
    return of.set_column(of.column_names.index("bytes"), "bytes", pa.array(texts, pa.string()))


def compare(path, tool, found, left_out=()):
    expected = hex_bytes(table())
    assert found.column_names == expected.column_names, f"{path}, {tool}: columns {found.column_names}"
    for name in expected.column_names:
        if name in left_out:
            continue
        same = found[name].cast(expected[name].type)
        for row, (a, b) in enumerate(zip(plain(expected[name]), plain(same), strict=True)):
            assert a == b, f"{path}, {tool}: row {row} of {name} is {b!r}, not {a!r}"


def by_duckdb(path):
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in TYPES.items())
    if ".csv" in path.suffixes:
        quotes = "header = true, delim = ',', quote = '\"', escape = '\"', nullstr = '', allow_quoted_nulls = false"
        source = f"read_csv('{path}', columns = {{{columns}}}, auto_detect = false, {quotes})"
    else:
        source = f"read_json('{path}', columns = {{{columns}}}, format = 'newline_delimited')"
    return duckdb.sql(f"SET TimeZone = 'UTC'; SELECT * FROM {source}").to_arrow_table()


def by_pyarrow(path):
    types = {field.name: field.type for field in hex_bytes(table()).schema}
    # Timestamps of palais are in UTC where they have a zone.
    types["zoned"] = pa.timestamp("us", "UTC")
    convert = pa.csv.ConvertOptions(
        column_types=types, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    parse = pa.csv.ParseOptions(newlines_in_values=True)
    return pa.csv.read_csv(path, convert_options=convert, parse_options=parse)


def check(directory):
    paths = sorted(directory.iterdir())
    assert paths, f"no files in {directory}"
    for path in paths:
        compression = path.suffix if path.suffix not in (".csv", ".jsonl") else ""
        if compression in ("", ".gz", ".zst"):
            # DuckDB takes the numbers of JSON for doubles, which have fewer digits than the decimals here.
            compare(path, "DuckDB", by_duckdb(path), ["decimal"] if ".jsonl" in path.suffixes else [])
        if ".csv" in path.suffixes and compression in ("", ".gz", ".zst", ".lz4"):
            compare(path, "pyarrow", by_pyarrow(path))


def write(directory):
    rows = hex_bytes(table())
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    database.register("rows", rows)
    for suffix, compression in {"": "none", ".gz": "gzip", ".zst": "zstd"}.items():
        for kind, options in {"csv": "FORMAT csv, HEADER", "jsonl": "FORMAT json"}.items():
            path = directory / f"duckdb.{kind}{suffix}"
            database.execute(f"COPY rows TO '{path}' ({options}, COMPRESSION {compression})")
    options = pa.csv.WriteOptions(quoting_style="needed")
    utc = rows.set_column(
        rows.column_names.index("zoned"), "zoned", rows["zoned"].cast(pa.timestamp("us", "UTC"))
    )
    pa.csv.write_csv(utc, directory / "pyarrow.csv", options)


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
