"""Parquet files with columns of lists, and their rows as JSON lines beside them: `python lists.py DIR SEED FILES`.

pyarrow writes them: items of all kinds, NULL lists, empty ones and NULL items, lists that are longer than a page, pages of
both versions, all compressions.
"""

import datetime
import json
import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

SCALARS = {
    pa.int64(): lambda r: r.choice([0, 1, -5, 2**62, r.randrange(1000)]),
    pa.int32(): lambda r: r.randrange(-100, 100),
    pa.bool_(): lambda r: r.random() < 0.5,
    pa.string(): lambda r: r.choice(["", "a", "grüße", "a text of more than twelve bytes", f"number {r.randrange(50)}"]),
    pa.date32(): lambda r: datetime.date(2024, 1, 1) + datetime.timedelta(r.randrange(1000)),
}


def item_type(r):
    scalar = lambda: r.choice(list(SCALARS))
    kind = r.random()
    if kind < 0.6:
        return scalar()
    inner = pa.struct([pa.field("x", scalar(), r.random() < 0.7), pa.field("y", scalar(), r.random() < 0.7)])
    if kind < 0.9:
        return inner
    return pa.struct([pa.field("in", inner, r.random() < 0.5), pa.field("z", scalar())])


def value(r, data_type, nullable, nulls):
    if nullable and r.random() < nulls:
        return None
    if pa.types.is_struct(data_type):
        return {field.name: value(r, field.type, field.nullable, nulls) for field in data_type}
    return SCALARS[data_type](r)


def column(r, rows):
    item = pa.field("item", item_type(r), r.random() < 0.7)
    nullable, nulls, empty = r.random() < 0.7, r.choice([0, 0, 0.1, 0.9]), r.choice([0, 0.1, 0.9])
    most, long = r.choice([1, 3, 30]), r.choice([0, 0, 0.002])
    same = r.random() < 0.2

    def length():
        if r.random() < empty:
            return 0
        return r.randrange(5000, 20000) if r.random() < long else most if same else r.randrange(1, most + 1)

    def row():
        if nullable and r.random() < nulls:
            return None
        return [value(r, item.type, item.nullable, nulls) for _ in range(length())]

    return pa.list_(item), nullable, [row() for _ in range(rows)]


def text(rows):
    plain = lambda of: of.isoformat()
    return "".join(json.dumps(row, separators=(",", ":"), ensure_ascii=False, default=plain) + "\n" for row in rows)


def main():
    directory, seed, files = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for number in range(files):
        r = random.Random(seed * 100_000 + number)
        rows = r.choice([0, 1, 10, 1000, 3000])
        fields, columns = [pa.field("k", pa.int64(), False)], [list(range(rows))]
        for name in "abc"[: r.randrange(1, 4)]:
            data_type, nullable, values = column(r, rows)
            fields.append(pa.field(name, data_type, nullable))
            columns.append(values)
        if r.random() < 0.5:
            fields.append(pa.field("t", pa.string()))
            columns.append([value(r, pa.string(), True, 0.2) for _ in range(rows)])
        if r.random() < 0.3:
            fields.append(pa.field("m", pa.list_(pa.list_(pa.int64()))))
            columns.append([[[i], [], None] for i in range(rows)])
        schema = pa.schema(fields)
        table = pa.table([pa.array(c, f.type) for c, f in zip(columns, fields)], schema=schema)
        pq.write_table(
            table,
            directory / f"{number}.parquet",
            compression=r.choice(["none", "snappy", "snappy", "snappy", "zstd", "gzip", "lz4", "brotli"]),
            data_page_version=r.choice(["1.0", "2.0"]),
            data_page_size=r.choice([100, 2000, 1 << 20]),
            row_group_size=r.choice([1, 100, 1000, 1 << 20]) if rows < 50 else r.choice([100, 1000, 1 << 20]),
            use_dictionary=r.random() < 0.5,
            write_statistics=r.random() < 0.5,
            write_page_checksum=r.random() < 0.5,
            use_compliant_nested_type=r.random() < 0.7,
            store_schema=r.random() < 0.7,
        )
        (directory / f"{number}.jsonl").write_text(text(table.to_pylist()))


if __name__ == "__main__":
    main()
