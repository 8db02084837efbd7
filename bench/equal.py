"""Whether the engines' results, kept as Parquet files, are the same."""

import duckdb

# The columns of each kind of query: the first is a key.
COLUMNS = {"1": ["k", "n"], "2": ["k", "x"], "3": ["k", "x", "y"], "4": ["k", "n"]}


def difference(query, left, right):
    """What differs between two results, as text, or None. Floats are compared at 1e-9 relative."""
    columns = COLUMNS[query[0]]
    db = duckdb.connect()
    db.execute("SET preserve_insertion_order = false")
    for name, path in (("a", left), ("b", right)):
        old = [row[0] for row in db.execute(f"DESCRIBE FROM '{path}'").fetchall()]
        if len(old) != len(columns):
            return f"{len(old)} columns in {path}"
        names = ", ".join(f'"{o}" AS {n}' for o, n in zip(old, columns))
        db.execute(f"CREATE VIEW {name} AS SELECT {names} FROM '{path}'")
    counts = [db.execute(f"SELECT count(*), count(DISTINCT k) FROM {t}").fetchone() for t in "ab"]
    if counts[0] != counts[1] or counts[0][0] != counts[0][1]:
        return f"rows and keys: {counts[0]} and {counts[1]}"
    values = columns[1:]
    sums = [db.execute("SELECT " + ", ".join(f"sum({v})::DOUBLE" for v in values) + f" FROM {t}").fetchone() for t in "ab"]
    if any(not close(x, y) for x, y in zip(*sums)):
        return f"sums: {sums[0]} and {sums[1]}"
    top = [db.execute(f"SELECT k FROM {t} ORDER BY {values[0]} DESC, k LIMIT 1").fetchone() for t in "ab"]
    unlike = " OR ".join(
        f"coalesce(abs(a.{v} - b.{v}) > 1e-9 * greatest(abs(a.{v}), abs(b.{v})), a.{v} IS DISTINCT FROM b.{v})"
        for v in values
    )
    rows = db.execute(
        f"SELECT k, {', '.join(f'a.{v}, b.{v}' for v in values)} FROM a FULL JOIN b USING (k) "
        f"WHERE a.{values[0]} IS NULL OR b.{values[0]} IS NULL OR {unlike} LIMIT 3"
    ).fetchall()
    if rows:
        return f"rows: {rows}"
    # Sums that are equal but for rounding may change places at the top.
    if top[0] != top[1] and query[0] != "2":
        return f"top rows: {top[0]} and {top[1]}"
    return None


def close(x, y):
    return x == y or (x is not None and y is not None and abs(x - y) <= 1e-9 * max(abs(x), abs(y)))
