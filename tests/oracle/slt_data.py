"""Makes the tables of the SQL tests: `python tests/oracle/slt_data.py` writes `tests/slt/data/`.

The files are committed; running this again gives the same bytes. A csv field is quoted where RFC 4180 asks for it
and where it is the empty string: a bare empty field is NULL. A table with a `.sql` file next to it has its types from
there, any other has them inferred, and the oracle holds the inferred types against `INFERRED`.
"""

import datetime as dt
import decimal
import math
import random
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DATA = Path(__file__).resolve().parent.parent / "slt" / "data"

# Tables whose csv file has no header; their columns are the benchmark's.
HEADERLESS = ("rankings", "uservisits")

# The types that are to be inferred from the csv files without a `.sql` file, in the words of SQL.
INFERRED = {
    "people": "id BIGINT, name VARCHAR, city VARCHAR, born DATE, height DOUBLE, salary BIGINT, active BOOLEAN, "
    "boss BIGINT",
    "orders": "id BIGINT, person BIGINT, product VARCHAR, quantity BIGINT, price DOUBLE, ordered TIMESTAMP, "
    "note VARCHAR",
    "products": "code VARCHAR, title VARCHAR, category VARCHAR, price DOUBLE, stock BIGINT",
    "lefts": "k BIGINT, v VARCHAR",
    "rights": "k BIGINT, w VARCHAR",
    "pairs": "a BIGINT, b VARCHAR, x BIGINT",
    "events": "id BIGINT, kind VARCHAR, region VARCHAR, value DOUBLE, n BIGINT, day DATE, ok BOOLEAN",
    "words": "id BIGINT, word VARCHAR, lang VARCHAR",
    "rankings": "pageURL VARCHAR, pageRank INT, avgDuration INT",
    "uservisits": "sourceIP VARCHAR, destURL VARCHAR, visitDate DATE, adRevenue FLOAT, userAgent VARCHAR, "
    "countryCode VARCHAR, languageCode VARCHAR, searchWord VARCHAR, duration INT",
}


def field(value):
    """One csv field."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if text == "" or any(c in text for c in ',"\r\n') or text != text.strip():
        return '"' + text.replace('"', '""') + '"'
    return text


def write(name, columns, rows):
    """Writes one table; `columns` is None for a file without header."""
    lines = [] if columns is None else [",".join(columns.split())]
    lines += [",".join(field(v) for v in row) for row in rows]
    (DATA / f"{name}.csv").write_text("".join(line + "\n" for line in lines), encoding="utf-8", newline="")


def write_types(name, ddl):
    """Writes the schema file of a table."""
    columns = ",\n".join(f"  {column.strip()}" for column in ddl.split(";"))
    (DATA / f"{name}.sql").write_text(f"CREATE TABLE {name} (\n{columns}\n);\n")


def people():
    d = dt.date
    write(
        "people",
        "id name city born height salary active boss",
        [
            (1, "Ada", "London", d(1815, 12, 10), 1.65, 9000, True, None),
            (2, "Grace", "New York", d(1906, 12, 9), 1.68, 8500, True, 1),
            (3, "Edsger", "Rotterdam", d(1930, 5, 11), 1.8, 7200, False, 1),
            (4, "Barbara", "Los Angeles", d(1939, 11, 7), 1.7, 7200, True, 2),
            (5, "Donald", "Milwaukee", d(1938, 1, 10), 1.93, 6800, True, 2),
            (6, "Åse", "Tromsø", d(1970, 1, 1), None, 5100, None, 3),
            (7, "Łukasz", "Łódź", d(1969, 12, 31), 1.77, None, True, 3),
            (8, "李明", "北京", d(1985, 2, 28), 1.74, 4300, False, 4),
            (9, "O'Neil", "Dublin", d(2000, 2, 29), 1.81, 0, True, 4),
            (10, "", "London", None, 1.5, -150, None, 99),
            (11, None, None, d(1990, 7, 4), 1.62, 5100, False, None),
            (12, "Ada", "london", d(1999, 12, 31), 1.59, 3900, True, 5),
        ],
    )


def orders():
    rng = random.Random(11)
    products = ["pen", "ink", "book", "lamp", "desk", None]
    notes = [None, "", "gift", "rush, please", 'say "hi"', "two\nlines", "ünïcode ✓", " padded "]
    rows = []
    for i in range(1, 61):
        person = rng.choice([1, 1, 2, 3, 4, 5, 5, 5, 7, 8, 9, 12, 77, 78, None])
        product = products[rng.randrange(6)]
        quantity = None if rng.random() < 0.08 else rng.randrange(1, 12)
        price = None if rng.random() < 0.08 else rng.randrange(50, 20000) / 100
        when = dt.datetime(2024, 1, 1) + dt.timedelta(seconds=rng.randrange(366 * 86400))
        note = notes[rng.randrange(8)]
        rows.append((i, person, product, quantity, price, when, note))
    write("orders", "id person product quantity price ordered note", rows)


def products():
    write(
        "products",
        "code title category price stock",
        [
            ("pen", "Fountain pen", "writing", 24.5, 10),
            ("ink", "Blue ink", "writing", 8.0, 0),
            ("book", "Notebook", "paper", 5.25, 120),
            ("lamp", "Desk lamp", "light", 39.99, 7),
            ("globe", "Globe", None, 99.0, None),
            ("card", "Card", "paper", None, 500),
        ],
    )


def keys():
    """Two sides of a join: NULL keys, keys that occur several times, keys of one side only."""
    write(
        "lefts",
        "k v",
        [(1, "a"), (2, "b"), (2, "c"), (3, "d"), (None, "e"), (None, "f"), (5, None), (6, "g")],
    )
    write(
        "rights",
        "k w",
        [(2, "p"), (2, "q"), (3, "r"), (3, None), (None, "s"), (4, "t"), (5, "u"), (6, "a")],
    )
    write(
        "pairs",
        "a b x",
        [(1, "x", 10), (1, "y", 20), (1, None, 30), (2, "x", 40), (None, "x", 50), (None, None, 60), (2, "x", 70),
         (2, "z", None)],
    )


def events():
    rng = random.Random(23)
    kinds = ["view", "click", "buy", "leave", None]
    regions = ["north", "south", "öst", "西", ""]
    rows = []
    for i in range(400):
        rows.append(
            (
                i,
                kinds[min(int(rng.random() * 7), 4)],
                regions[rng.randrange(5)],
                None if rng.random() < 0.05 else rng.randrange(-50000, 100000) / 100,
                None if rng.random() < 0.05 else rng.randrange(-20, 80),
                None if rng.random() < 0.03 else dt.date(1968, 1, 1) + dt.timedelta(days=rng.randrange(1500)),
                rng.choice([True, False, False, None]),
            )
        )
    write("events", "id kind region value n day ok", rows)


def words():
    write(
        "words",
        "id word lang",
        [
            (1, "hello", "en"), (2, "Hello", "en"), (3, "HELLO", "en"), (4, "straße", "de"), (5, "ÄÖÜ", "de"),
            (6, "naïve", "fr"), (7, "日本語", "ja"), (8, "emoji 😀 x", "un"), (9, "a\u0301", "un"), (10, "á", "un"),
            (11, "", "un"), (12, None, "un"), (13, "  spaced  ", "en"), (14, "tab\there", "en"),
            (15, "100%", "un"), (16, "under_score", "un"), (17, "back\\slash", "un"), (18, "twelve bytes", "en"),
            (19, "thirteen bytes", "en"), (20, "twelve byteś", "en"), (21, "Ελλάδα", "el"), (22, "שלום", "he"),
        ],
    )


def extremes():
    write_types(
        "extremes",
        "name VARCHAR; i8 TINYINT; i16 SMALLINT; i32 INT; i64 BIGINT; f32 FLOAT; f64 DOUBLE; money DECIMAL(18,2); "
        "wide DECIMAL(38,0)",
    )
    big = 9223372036854775807
    write(
        "extremes",
        "name i8 i16 i32 i64 f32 f64 money wide",
        [
            ("zero", 0, 0, 0, 0, 0, 0, "0.00", 0),
            ("max", 127, 32767, 2147483647, big, "3.4028235e38", "1.7976931348623157e308", "9999999999999999.99",
             "9" * 38),
            ("min", -128, -32768, -2147483648, -big - 1, "-3.4028235e38", "-1.7976931348623157e308",
             "-9999999999999999.99", "-" + "9" * 38),
            ("tiny", 1, 1, 1, 1, "1.17549435e-38", "2.2250738585072014e-308", "0.01", 1),
            ("nan", -1, -1, -1, -1, "NaN", "NaN", "-0.01", -1),
            ("inf", 2, 2, 2, 2, "inf", "inf", "1.50", 2),
            ("ninf", 3, 3, 3, 3, "-inf", "-inf", "-1.50", 3),
            ("null", None, None, None, None, None, None, None, None),
        ],
    )


def empty():
    write_types("empty", "a BIGINT; b VARCHAR; c DOUBLE; d DATE")
    write("empty", "a b c d", [])


def samples():
    """Rows for windows: groups of different sizes, ties, NULLs in keys and values; sums of all floats are exact."""
    write_types(
        "samples",
        "id INT; g VARCHAR; k INT; n BIGINT; x DOUBLE; m DECIMAL(10,2); t VARCHAR; d DATE; moment TIMESTAMP; small TINYINT",
    )
    rng = random.Random(43)
    words = ["a", "bb", "longer than twelve bytes", "Zürich", "", None]
    rows = []
    for i in range(1, 25):
        day = dt.date(2024, 1, 29) + dt.timedelta(days=rng.randrange(12))
        at = dt.datetime(2024, 2, 28, 12) + dt.timedelta(hours=rng.randrange(72))
        rows.append(
            (
                i,
                rng.choice(["p", "p", "p", "q", "q", "r", None]),
                rng.choice([1, 2, 2, 3, 5, 8, 8, None]),
                rng.choice([None, *range(-20, 40)]),
                rng.choice([None, *(q / 4 for q in range(-30, 60))]),
                rng.choice([None, *(decimal.Decimal(c) / 100 for c in range(-500, 900, 25))]),
                rng.choice(words),
                None if i % 11 == 0 else day,
                None if i % 7 == 0 else at,
                rng.choice([None, -3, -1, 0, 1, 2, 4, 7]),
            )
        )
    write("samples", "id g k n x m t d moment small", rows)


def moments():
    write_types("moments", "id INT; d DATE; t TIMESTAMP; zone VARCHAR")
    write(
        "moments",
        "id d t zone",
        [
            (1, "1970-01-01", "1970-01-01 00:00:00", "epoch"),
            (2, "1969-12-31", "1969-12-31 23:59:59.999999", "before"),
            (3, "1900-02-28", "1900-02-28 12:34:56", "before"),
            (4, "2000-02-29", "2000-02-29 23:59:59", "leap"),
            (5, "2024-02-29", "2024-02-29 00:00:00.5", "leap"),
            (6, "2023-12-31", "2023-12-31 23:59:59", "edge"),
            (7, "2024-01-01", "2024-01-01 00:00:00", "edge"),
            (8, "1815-12-10", "1815-12-10 01:02:03", "before"),
            (9, "2038-01-19", "2038-01-19 03:14:08", "edge"),
            (10, None, None, None),
            (11, "2021-03-28", "2021-03-28 02:30:00.123456", "spring"),
            (12, "2021-10-31", "2021-10-31 02:30:00", "autumn"),
        ],
    )


def types():
    """A Parquet file with the types that csv has no words for."""
    D = decimal.Decimal
    none = [None]
    pq.write_table(
        pa.table(
            {
                "id": pa.array([1, 2, 3, 4], pa.int32()),
                "u8": pa.array([0, 255, 7] + none, pa.uint8()),
                "u16": pa.array([0, 65535, 7] + none, pa.uint16()),
                "u32": pa.array([0, 4294967295, 7] + none, pa.uint32()),
                "u64": pa.array([0, 18446744073709551615, 7] + none, pa.uint64()),
                "f32": pa.array([0.5, math.inf, math.nan] + none, pa.float32()),
                "dec": pa.array([D("0.000"), D("-123456789012345.678"), D("1.500")] + none, pa.decimal128(18, 3)),
                "bin": pa.array([b"", b"\x00\xff", b"abc"] + none, pa.binary()),
                "dict": pa.array(["x", "y", "x", None]).dictionary_encode(),
                "ts_ms": pa.array([0, -1, 1709164800123] + none, pa.timestamp("ms")),
                "ts_us": pa.array([0, -1, 1709164800123456] + none, pa.timestamp("us")),
                "day": pa.array([0, -1, 19782] + none, pa.date32()),
                "flag": pa.array([True, False, True, None]),
            }
        ),
        DATA / "types.parquet",
        compression="none",
        store_schema=True,
    )


def instants():
    """A Parquet file whose instants are labelled with different zones, in row groups of two."""
    seconds = [
        1704061800,  # 2023-12-31 22:30:00Z, 23:30 in Berlin
        1704063600,  # 2023-12-31 23:00:00Z, midnight in Berlin
        1704067200,  # 2024-01-01 00:00:00Z
        1718446830,  # 2024-06-15 10:20:30Z
        1711848600,  # 2024-03-31 01:30:00Z, an hour after the clocks of Berlin changed
        -1800,  # 1969-12-31 23:30:00Z
        None,
        1729989000,  # 2024-10-27 00:30:00Z, in the hour that Berlin has twice
    ]
    at = lambda unit, per_second, zone: pa.array(
        [None if s is None else s * per_second for s in seconds], pa.timestamp(unit, zone)
    )
    pq.write_table(
        pa.table(
            {
                "id": pa.array(range(1, 9), pa.int32()),
                "berlin": at("us", 10**6, "Europe/Berlin"),
                "east": at("ms", 10**3, "+02:00"),
                "utc": at("us", 10**6, "UTC"),
                "plain": at("us", 10**6, None),
            }
        ),
        DATA / "instants.parquet",
        compression="none",
        store_schema=True,
        row_group_size=2,
        version="2.6",
    )


def nested():
    """A Parquet file with lists and structs that hold NULLs, and UUIDs."""
    pair = pa.struct([("a", pa.int32()), ("b", pa.float64())])
    uuids = [uuid.UUID(int=n).bytes for n in (0, 2**128 - 1, 0x550E8400E29B41D4A716446655440000)]
    pq.write_table(
        pa.table(
            {
                "id": pa.array(range(1, 8), pa.int32()),
                "n": pa.array([1, 2, None, 3, 1, 5, 2], pa.int32()),
                "xs": pa.array([[1, None], [1], [1, 2], None, [None], [], [2, 3]], pa.list_(pa.int32())),
                "s": pa.array(
                    [
                        {"a": 1, "b": None},
                        {"a": 1, "b": 2.0},
                        None,
                        {"a": None, "b": 0.0},
                        {"a": 1, "b": math.nan},
                        {"a": 1, "b": -0.0},
                        {"a": 1, "b": 0.0},
                    ],
                    pair,
                ),
                "u": pa.array(uuids + [None] + uuids, pa.uuid()),
            }
        ),
        DATA / "nested.parquet",
        compression="none",
        store_schema=True,
    )


def bdb():
    """Tables of the benchmark's shape, far smaller than its tiny set."""
    rng = random.Random(5)
    letters = "abcdefghijklmnopqrstuvwxyz"
    urls = ["".join(rng.choice(letters) for _ in range(rng.randrange(10, 40))) for _ in range(60)]
    ranks = sorted((int(2000 * rng.random() ** 6) for _ in urls), reverse=True)
    write("rankings", None, [(u, r, rng.randrange(1, 100)) for u, r in zip(urls, ranks)])
    agents = ["Mozilla/5.0 (X11; Linux)", "Opera/9.80", "Lynx/2.8", "Zqfwae/3.1"]
    places = [("USA", "USA-EN"), ("DEU", "DEU-DE"), ("JPN", "JPN-JA"), ("CHE", "CHE-FR")]
    rows = []
    while len(rows) < 400:
        url = rng.choice(urls)
        for _ in range(rng.randrange(1, 17)):
            ip = f"{rng.randrange(1, 12)}.{rng.randrange(0, 255)}.{rng.randrange(0, 255)}.{rng.randrange(1, 255)}"
            day = dt.date(1970, 1, 1) + dt.timedelta(days=rng.randrange(15461))
            revenue = rng.randrange(1 << 24) / (1 << 24)
            country, language = rng.choice(places)
            word = rng.choice(["red", "green", "blue"])
            rows.append((ip, url, day, revenue, rng.choice(agents), country, language, word, rng.randrange(1, 11)))
    write("uservisits", None, rows[:400])


def main():
    DATA.mkdir(parents=True, exist_ok=True)
    for make in (people, orders, products, keys, events, words, extremes, empty, samples, moments, types, instants, nested, bdb):
        make()


if __name__ == "__main__":
    main()
