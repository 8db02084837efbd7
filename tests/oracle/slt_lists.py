"""Makes the statements of `tests/slt/lists_functions.slt`: every function of lists over lists of several types, with
NULL lists, NULL items, empty lists and repeated items, constants and columns.

`python tests/oracle/slt_lists.py` writes the file without results; `slt.py --write` fills these in.
"""

from pathlib import Path

FILE = Path(__file__).resolve().parent.parent / "slt" / "lists_functions.slt"

# Relations `l(id, a, b, n, x)`: two lists, an integer and an item.
TABLES = {
    "integers": "(VALUES (1, [3, 1, 2], [2, 5], 1, 1), (2, [NULL, 4, 4, NULL], [4, NULL], 2, NULL), (3, [], [1], 0, 7), "
    "(4, NULL, [1, 2], -1, 2), (5, [5], NULL, NULL, 5), (6, [-1, 0, 1, 0, -1], [0, 0, 1], -2, 0)) l(id, a, b, n, x)",
    "texts": "(VALUES (1, ['b', 'a', 'é'], ['a'], 1, 'a'), (2, [NULL, 'x', ''], ['', NULL], 3, ''), (3, NULL, ['q'], 2, 'q'), "
    "(4, [], NULL, 0, NULL), (5, ['aa', 'a', 'aa'], ['aa', 'b'], -1, 'aa')) l(id, a, b, n, x)",
    "floats": "(VALUES (1, [1.5e0, 7e0, -0e0], [0e0, 1.5e0], 1, 7e0), (2, [NULL, 2e0], [2e0], 2, 2e0), "
    "(3, ['inf'::DOUBLE, -1e0], NULL, -1, 1e0)) l(id, a, b, n, x)",
    "dates": "(VALUES (1, [DATE '2024-02-29', DATE '2023-01-01'], [DATE '2023-01-01'], 1, DATE '2024-02-29'), "
    "(2, [NULL, DATE '1970-01-01'], NULL, 2, NULL), (3, NULL, [DATE '2000-01-01'], -1, DATE '2000-01-01')) l(id, a, b, n, x)",
    "decimals": "(VALUES (1, [1.25, 0.10], [0.1], 1, 0.1), (2, [NULL, 3.00], [3.0, 4.5], 2, 3), (3, NULL, NULL, 1, 2.5)) "
    "l(id, a, b, n, x)",
    "lists": "(VALUES (1, [[1, 2], [3]], [[3]], 1, [3]), (2, [[], NULL, [NULL]], [NULL], 2, [NULL]), (3, NULL, [[1]], -1, [])) "
    "l(id, a, b, n, x)",
}
# Each result as text: an equal text is an equal list.
EXPRESSIONS = [
    "list_value(x, x)", "[x, NULL]", "[a, b]", "list_extract(a, n)", "a[n]", "a[1]", "a[-1]", "a[2:]", "a[:n]", "a[n:2]",
    "a[-2:-1]", "list_slice(a, 1, 2)", "list_slice(a, 1, 3, 2)", "list_slice(a, 3, 1, -1)", "a[n:n]", "list_concat(a, b)",
    "list_concat(a, b, a)", "list_append(a, x)", "list_prepend(x, a)", "array_push_front(a, x)", "array_pop_back(a)",
    "array_pop_front(a)", "list_reverse(a)", "list_sort(a)", "list_sort(a, 'DESC')", "list_sort(a, 'ASC', 'NULLS FIRST')",
    "list_sort(a, 'DESC', 'NULLS FIRST')", "list_reverse_sort(a)", "list_reverse_sort(a, 'NULLS FIRST')",
    "list_sort(list_distinct(a))", "list_unique(a)", "list_sort(list_intersect(a, b))", "list_contains(a, x)",
    "list_position(a, x)", "list_has_any(a, b)", "list_has_all(a, b)", "a && b", "a @> b", "b <@ a", "len(a)", "array_length(b)",
    "length(a)", "list_resize(a, 2)", "list_resize(a, 4, x)", "list_grade_up(a)", "list_where(a, [true, false])",
    "list_select(a, [1, 3])", "flatten([a, b])", "list_transform(a, lambda v: v IS NULL)",
    "list_transform(a, lambda v, i: i)", "list_transform(a, lambda v, i: i * n)", "list_filter(a, lambda v: v IS NOT NULL)",
    "list_filter(a, lambda v, i: i <> 2)", "list_filter(a, lambda v: v = x)", "list_transform(a, lambda v: [v, x])",
    "list_reduce(b, lambda s, v: coalesce(v, s), x)", "a = b", "a < b", "a IS NOT DISTINCT FROM b", "coalesce(a, b)",
    "CASE WHEN n > 0 THEN a ELSE b END", "array_to_string(a, '-')", "unnest(a)", "a || b", "repeat(a, 2)",
]


def main():
    lines = ["# Functions of lists over columns; made by tests/oracle/slt_lists.py.", ""]
    for name, table in TABLES.items():
        for expression in EXPRESSIONS:
            if name == "lists" and "array_to_string" in expression:
                continue
            lines += ["query IT rowsort", f"SELECT id, CAST({expression} AS VARCHAR) FROM {table}", "----", ""]
    FILE.write_text("\n".join(lines), encoding="utf-8")


main()
