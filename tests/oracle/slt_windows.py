"""Makes the statements of `tests/slt/windows_frames.slt`: every frame with every kind of function, over partitions and
orders with NULLs and ties, of the table `samples`.

`python tests/oracle/slt_windows.py` writes the file without results; `slt.py --write` fills these in. Where a result
depends on the order of peers, the order of the window goes on with `id`.
"""

import itertools
from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "slt" / "windows_frames.slt"

ROWS = [
    "UNBOUNDED PRECEDING",
    "BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING",
    "BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "2 PRECEDING",
    "BETWEEN 3 PRECEDING AND 1 PRECEDING",
    "BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING",
    "BETWEEN CURRENT ROW AND CURRENT ROW",
    "BETWEEN CURRENT ROW AND 2 FOLLOWING",
    "BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    "BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING",
    "BETWEEN 1 PRECEDING AND 2 PRECEDING",
    "BETWEEN 0 PRECEDING AND 0 FOLLOWING",
]
GROUPS = [
    "UNBOUNDED PRECEDING",
    "BETWEEN 1 PRECEDING AND CURRENT ROW",
    "BETWEEN 2 PRECEDING AND 1 PRECEDING",
    "BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "BETWEEN CURRENT ROW AND 1 FOLLOWING",
    "BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
    "BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
    "BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
]
RANGE = [
    "UNBOUNDED PRECEDING",
    "BETWEEN CURRENT ROW AND CURRENT ROW",
    "BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "2 PRECEDING",
    "BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "BETWEEN 3 PRECEDING AND 1 PRECEDING",
    "BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
    "BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING",
    "BETWEEN CURRENT ROW AND 2 FOLLOWING",
    "BETWEEN 3 PRECEDING AND UNBOUNDED FOLLOWING",
]
FUNCTIONS = [
    ["count(*)", "count(n)", "sum(n)", "avg(n)", "min(n)", "max(n)"],
    ["sum(x)", "avg(x)", "min(x)", "max(x)", "sum(small)"],
    ["sum(m)", "avg(m)", "min(m)", "max(m)", "min(t)", "max(t)"],
    ["count(DISTINCT k)", "sum(DISTINCT k)", "count(*) FILTER (WHERE n > 0)", "sum(n) FILTER (WHERE k > 2)"],
    ["min(d)", "max(moment)", "bool_or(n > 10)", "bit_xor(id)", "median(n)"],
    ["first_value(x)", "last_value(x)", "nth_value(x, 2)", "first_value(t)"],
    ["first_value(x IGNORE NULLS)", "last_value(t IGNORE NULLS)", "nth_value(n, 2 IGNORE NULLS)", "last_value(n)"],
    ["string_agg(CAST(id AS VARCHAR), '-')", "max(x) FILTER (WHERE t <> 'a')", "stddev_pop(id)", "any_value(id)"],
]
EXCLUDE = [
    "ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING",
    "ROWS UNBOUNDED PRECEDING",
    "RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING",
    "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
]
LEFT_OUT = ["CURRENT ROW", "GROUP", "TIES", "NO OTHERS"]
# The order of peers matters to the last three of them, and in frames of ROWS to all.
OF_ORDER = {5, 6, 7}
PARTITIONS = ["", "PARTITION BY g ", "PARTITION BY g, k % 2 "]
KEYS = ["k", "k DESC", "k NULLS FIRST", "k DESC NULLS FIRST"]
TOTAL = ["id", "k, id", "x DESC NULLS FIRST, id", "t, id DESC"]


def statements():
    """The statements, with the types of their orders in turn."""
    partitions, keys, total = (itertools.cycle(each) for each in (PARTITIONS, KEYS, TOTAL))
    frames = [("ROWS", f) for f in ROWS] + [("GROUPS", f) for f in GROUPS] + [("RANGE", f) for f in RANGE]
    for units, frame in frames:
        has_distance = units == "RANGE" and any(c.isdigit() for c in frame)
        for place, functions in enumerate(FUNCTIONS):
            if units == "ROWS":
                order = next(total)
            elif place in OF_ORDER:
                order = "id" if has_distance else next(total)
            else:
                order = next(keys)
            window = f"{next(partitions)}ORDER BY {order} {units} {frame}"
            yield f"SELECT id, {', '.join(f'{f} OVER w' for f in functions)} FROM samples WINDOW w AS ({window}) ORDER BY id"
    for (frame, exclude), functions in itertools.product(itertools.product(EXCLUDE, LEFT_OUT), FUNCTIONS[:4]):
        order = next(keys) if not frame.startswith("ROWS") else "k, id"
        functions = functions + ["first_value(id)", "last_value(id)"] if order == "k, id" else functions
        window = f"{next(partitions)}ORDER BY {order} {frame} EXCLUDE {exclude}"
        yield f"SELECT id, {', '.join(f'{f} OVER w' for f in functions)} FROM samples WINDOW w AS ({window}) ORDER BY id"


def main():
    """Writes the file."""
    lines = ["# Made by tests/oracle/slt_windows.py: every frame with every kind of function.", ""]
    for statement in statements():
        lines += ["query T", statement, "----", ""]
    FILE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
