"""Results of both systems in one form, and whether two are equal.

A result is a list of classes, one a column, and a list of rows. Classes: B boolean, N number, T text, P date or timestamp,
Z timestamp with a zone, V interval, X bytes, L list, S struct, M map (all three as text), and `?` for what has no type, a
NULL. JSON is text. Dates and timestamps are nanoseconds since 1970, intervals nanoseconds with months of 30 days; a date
and a timestamp at midnight are equal.
"""

import datetime
import math
import re
import struct
import warnings
from decimal import Decimal

EPOCH = datetime.datetime(1970, 1, 1)
UNITS = {"Second": 10**9, "Millisecond": 10**6, "Microsecond": 10**3, "Nanosecond": 1}
DAY = 86_400 * 10**9
INTERVAL = re.compile(r"(-?\d+(?:\.\d+)?) (mons?|days?|hours?|mins?|secs?|years?)")
#: An interval as palais prints it, of parts that are not 0.
PRINTED = re.compile(r"(?:(-?\d+) years? ?)?(?:(-?\d+) months? ?)?(?:(-?\d+) days? ?)?(?:(-?)(\d+):(\d\d):(\d\d(?:\.\d+)?))?")
LENGTHS = {"year": 360 * DAY, "mon": 30 * DAY, "day": DAY, "hour": DAY // 24, "min": 60 * 10**9, "sec": 10**9}


class Result:
    """What a system answers: rows of values and the classes of its columns."""

    def __init__(self, classes, rows, singles=()):
        self.classes, self.rows = classes, rows
        #: Columns of floats of 32 bits, whose values are those of 64 bits.
        self.singles = singles

    def __str__(self):
        lines = ["  ".join(show(value, kind) for value, kind in zip(row, self.classes)) for row in sorted(self.rows, key=key)[:12]]
        more = [f"… {len(self.rows)} rows"] if len(self.rows) > 12 else []
        return "\n".join(["(" + " ".join(self.classes) + f") {len(self.rows)} rows", *lines, *more])


def show(value, kind):
    if value is None:
        return "NULL"
    if kind in "PZ":
        return str(EPOCH + datetime.timedelta(microseconds=value // 1000))
    return repr(value) if kind in "TX" else str(value)


# DuckDB

# The results here are small.
warnings.filterwarnings("ignore", "Arrow output on a DB-API result makes an extra copy")


def of_duckdb(result):
    """A result of DuckDB."""
    classes = [duckdb_class(str(column[1])) for column in result.description]
    if "Z" in classes:
        # As objects of Python, zoned timestamps would need a package for zones.
        columns = result.to_arrow_table().columns
        columns = [(column.cast("int64") if c == "Z" else column).to_pylist() for column, c in zip(columns, classes)]
        rows = zip(*columns)
    else:
        rows = result.fetchall()
    return Result(classes, [tuple(duckdb_value(v, c) for v, c in zip(row, classes)) for row in rows])


def duckdb_class(name):
    if name.endswith("[]"):
        return "L"
    if name == "BOOLEAN":
        return "B"
    if name.endswith(("INT", "INTEGER", "DOUBLE", "FLOAT")) or name.startswith("DECIMAL"):
        return "N"
    if name.startswith(("STRUCT", "TUPLE", "MAP")):
        return "M" if name.startswith("MAP") else "S"
    if name.startswith("TIMESTAMP"):
        return "Z" if "ZONE" in name else "P"
    return {"VARCHAR": "T", "JSON": "T", "DATE": "P", "INTERVAL": "V", "BLOB": "X"}.get(name, "?" if "NULL" in name else name)


def nanoseconds(delta):
    return ((delta.days * 86_400 + delta.seconds) * 10**6 + delta.microseconds) * 1000


def duckdb_value(value, kind):
    if value is None:
        return None
    if isinstance(value, datetime.datetime):
        return nanoseconds(value - EPOCH)
    if isinstance(value, datetime.date):
        return (value - EPOCH.date()).days * DAY
    if isinstance(value, datetime.timedelta):
        return nanoseconds(value)
    if kind == "V":
        months, days, rest = value
        return months * LENGTHS["mon"] + days * DAY + rest
    if kind == "Z":
        return value * 1000
    if kind in "LSM":
        # Arrow's maps are pairs in Python.
        return nested(dict(value) if kind == "M" else value)
    return Decimal(value) if kind == "N" and isinstance(value, int) else value


def nested(value):
    """The text of a list, a struct or a map, as Arrow has it."""
    if isinstance(value, list):
        return f"[{', '.join(map(nested, value))}]"
    if isinstance(value, tuple):
        # A struct without names, which has some here.
        value = {f"c{place}": field for place, field in enumerate(value)}
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {nested(field)}" for name, field in value.items()) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    return "NULL" if value is None else str(value)


# palais


def of_palais(types, rows):
    """A result of the runner: names of Arrow's types, and text."""
    classes, readers = zip(*map(palais_type, types)) if types else ((), ())
    values = [tuple(None if v is None else read(v) for v, read in zip(row, readers)) for row in rows]
    return Result(list(classes), values, [i for i, name in enumerate(types) if name == "Float32"])


def palais_type(name):
    """The class of an Arrow type, and what makes values of its text."""
    if name == "Boolean":
        return "B", lambda text: text == "true"
    if name.startswith("Float"):
        return "N", float
    if name.startswith(("Int", "UInt", "Decimal")) and not name.startswith("Interval"):
        return "N", Decimal
    if name.startswith("Timestamp"):
        unit = UNITS[re.match(r"Timestamp\((\w+)", name)[1]]
        return "Z" if "Some" in name else "P", lambda text: int(text) * unit
    if name.startswith("Date"):
        return "P", lambda text: (datetime.date.fromisoformat(text[:10]) - EPOCH.date()).days * DAY
    if name.startswith("Duration"):
        unit = UNITS[re.match(r"Duration\((\w+)", name)[1]]
        return "V", lambda text: int(text) * unit
    if name.startswith("Interval"):
        return "V", interval
    if name.startswith(("Utf8", "LargeUtf8")):
        return "T", str
    if name.startswith(("List", "Struct", "Map")):
        # Arrow says NaN where Python says nan.
        return name[0], lambda text: text.replace("NaN", "nan")
    if "Binary" in name:
        return "X", bytes.fromhex
    if name == "Null":
        return "?", lambda text: None
    return name, str


def interval(text):
    """An interval as Arrow prints it."""
    return sum(int(Decimal(number) * LENGTHS[unit.rstrip("s") if unit != "s" else unit]) for number, unit in INTERVAL.findall(text))


def printed_interval(text):
    years, months, days, sign, hours, minutes, seconds = PRINTED.fullmatch(text).groups(default="0")
    clock = int(hours) * DAY // 24 + int(minutes) * DAY // 1440 + int(Decimal(seconds) * 10**9)
    return (int(years) * 12 + int(months)) * LENGTHS["mon"] + int(days) * DAY + (-clock if sign == "-" else clock)


def of_csv(rows, like):
    """A result of the program: fields of csv, read as the columns of another result of the same statement."""
    def value(text, kind, is_single):
        if text is None:
            return None
        if is_single:
            return struct.unpack("f", struct.pack("f", float(text)))[0]
        if kind == "B":
            return text == "true"
        if kind == "N":
            return float(text) if re.search(r"[einfa]", text, re.I) else Decimal(text)
        if kind in "PZ":
            return timestamp(text)
        if kind == "X":
            return bytes.fromhex(text.removeprefix("\\x"))
        return printed_interval(text) if kind == "V" else text

    singles = [i in like.singles for i in range(len(like.classes))]
    return Result(like.classes, [tuple(map(value, row, like.classes, singles)) for row in rows], like.singles)


def plain(result):
    """A result whose lists, structs and maps are texts without quotes, as the program writes them with some."""
    def value(value, kind):
        if value is None or kind not in "LSM":
            return value
        return value.replace("'", "").replace(" => ", ": ").replace("NaN", "nan")

    rows = [tuple(map(value, row, result.classes)) for row in result.rows]
    return Result(result.classes, rows, result.singles)


def timestamp(text):
    text = text.removesuffix("Z").replace("T", " ")
    whole, _, fraction = text.partition(".")
    moment = datetime.datetime.fromisoformat(whole)
    return nanoseconds(moment - EPOCH) + int((fraction + "0" * 9)[:9])


# Comparison


def key(row):
    """A key by which equal rows come together, and rows with floats that are nearly equal mostly."""
    return tuple(cell_key(value) for value in row)


def cell_key(value):
    if value is None:
        return (0, "")
    if isinstance(value, (float, Decimal)):
        number = float(value)
        return (1, "nan" if math.isnan(number) else f"{number + 0.0:.7g}" if number else "0")
    return (2, str(value))


def same_value(left, right):
    if left is None or right is None:
        return left is right
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
        return (math.isnan(left) and math.isnan(right)) or math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    return left == right


def same_row(left, right):
    return all(map(same_value, left, right))


def same_rows(left, right):
    """Whether rows are equal in any order."""
    if len(left) != len(right):
        return False
    if all(map(same_row, sorted(left, key=key), sorted(right, key=key))):
        return True
    rest = list(right)
    if len(rest) > 500:
        return False
    for row in left:
        found = next((i for i, other in enumerate(rest) if same_row(row, other)), None)
        if found is None:
            return False
        rest.pop(found)
    return True


def difference(left, right, ordered):
    """How results differ: in `columns`, `types`, `rows` or `order`; None if they don't."""
    if len(left.classes) != len(right.classes):
        return "columns"
    if not same_rows(left.rows, right.rows):
        return "rows"
    for i, (l, r) in enumerate(zip(left.classes, right.classes)):
        if l != r and "?" not in (l, r) and any(row[i] is not None for row in left.rows):
            return "types"
    return "order" if ordered and not all(map(same_row, left.rows, right.rows)) else None
