"""Holds the functions of palais against the examples that DuckDB gives of its own.

`python tests/oracle/functions.py --runner target/release/examples/random_runner` runs each example of
`duckdb_functions()` on both systems, prints what agrees, differs and is refused, and fails where an example differs that
is not in `DIFFER`, is refused and not in `REFUSED`, or agrees and is in one of them. Examples over columns that are not
there (`arg_max(A, B)`) run over `TABLE`; functions that have no example of their own have one in `MORE`. What is left out
has its reason in `LEFT_OUT`. The runner is built by `cargo build --locked --release --example random_runner`.
"""

import argparse
import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "random"))

import compare  # noqa: E402
from systems import DuckDB, Failed, Runner  # noqa: E402

#: The columns that examples of aggregates name.
TABLE = """(VALUES (3, 2, 1.5e0, 2e0, true), (1, 5, -2.25e0, 4e0, false), (NULL, 7, NULL, 8e0, true),
    (7, NULL, 10e0, NULL, NULL), (3, 1, 3.5e0, 1e0, true), (9, 4, 4e0, 6e0, true)) t(a, b, x, y, c)"""

#: Functions that are left out, and why: a regular expression of names, or of examples.
LEFT_OUT = {
    "of lists, structs, maps and lambdas": r"^(list|array|map|struct|union)_.*|aggregate|apply|filter|flatten|reduce|grade_up"
    r"|cardinality|element_at|equi_width_bins|histogram.*|row|unpivot_list|list|array_agg|map|approx_top_k|lttb|histogram"
    r"|range|generate_series|regexp_extract_all|regexp_split_to_array|str(ing)?_split(_regex)?|split|string_to_array"
    r"|str_split.*|struct_.*|remap_struct|parse_path|is_histogram_other_bin|from_json.*|json.*|to_json|.*_json|switch"
    r"|variant_.*|stats|replace_type|invoke|to_aggregate_state|current_schemas|force_range",
    "of bits": r"bit_position|bitstring.*|get_bit|set_bit",
    "of geometries": r"(ST|st)_.*|vertex_extract|geometry.*|&&",
    "of enumerations": r"enum_.*",
    "of 128 bits without a sign": r"md5_number.*",
    "of the state of aggregates": r"combine.*|finalize|export_.*",
    "of a value each time, or of the system": r"random|uuid.*|gen_random_uuid|now|transaction_timestamp|current_.*|get_current_.*"
    r"|txid_current|version|setseed|sleep_ms|write_log|getenv|getvariable|.*_version|nextval|currval|setval|pg_.*|has_.*"
    r"|in_search_path|index_key|vector_type|error|get_type|make_type|today|user|session_user|get_block_size",
    "of DuckDB's inside": r"__.*|create_sort_key|can_cast_implicitly|constant_or_null|collate_.*|icu_.*|icu_sort_key|alias"
    r"|timetz_byte_comparable|parse_duckdb_log_message|pragma_.*|approx_count_distinct_hll|reservoir_quantile|hash"
    r"|decimal_average|decimal_division|hive_partition_component|add_parquet_key|read_.*",
    "of operators, which have tests of their own": r"[^a-zA-Z_].*|__postfix|IS .*",
    "of windows": r"row_number|rank|dense_rank|rank_dense|percent_rank|cume_dist|ntile|lag|lead|fill|first_value|last_value"
    r"|nth_value",
}

#: Examples that are left out for their types.
LEFT_OUT_BY_EXAMPLE = {
    "of lists, structs, maps and lambdas": r"\[|\{",
    "of bits": r"::BIT|BITSTRING",
    "of a literal of timestamp_ns": r"timestamp_ns '",
}

#: Examples that are answered otherwise on purpose; docs/sql.md says how.
DIFFER = {
    r"decode('\xA0'::BLOB, 'ignore')": "bytes that are not UTF-8 are an error",
    r"decode('\xA0'::BLOB, 'replace')": "bytes that are not UTF-8 are an error",
    "make_timestamp_ms(1732117793000000)": "a timestamp ends in 2262",
    "mode(x)": "of values that are there equally often the least one",
    "to_hex(42)": "in lower case",
    "typeof(1.5)": "named as palais names types",
}

#: Functions that may be refused.
REFUSED = {
    r"repeat('\xAA\xBB'::BLOB, 5)": "it takes text",
    "to_hex('Hello')": "hex() takes text",
    r"to_hex('\xAA\xBB'::BLOB)": "hex() takes bytes",
}

#: Examples whose literals palais does not read, which says nothing of the function.
REWRITTEN = {"16_000": "16000"}

#: Examples of functions that have none, and of what an analyst types first.
MORE = {
    "age": ["age(DATE '2024-03-01', DATE '2024-01-31')", "age(TIMESTAMP '1992-09-20', TIMESTAMP '2001-04-10 12:00:00')"],
    "approx_count_distinct": ["approx_count_distinct(y)"],
    "arg_max": ["arg_max(x, b)", "arg_max(c, x)"],
    "bin": ["bin(-1)"],
    "coalesce": ["coalesce(NULL, 2, 3)"],
    "date_add": ["date_add(DATE '2024-01-31', INTERVAL '1 month')"],
    "date_diff": [
        f"date_diff('{unit}', TIMESTAMP '2023-12-31 22:58:59.5', TIMESTAMP '2024-03-01 01:02:03')"
        for unit in ("year", "isoyear", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "decade")
    ],
    "date_sub": [
        f"date_sub('{unit}', TIMESTAMP '2023-12-31 22:58:59.5', TIMESTAMP '2024-02-29 01:02:03')"
        for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond", "decade")
    ],
    "date_trunc": ["date_trunc('month', TIMESTAMP '1992-09-20 20:38:40')"],
    "days_in_month": ["days_in_month(DATE '2024-02-11')"],
    "epoch_ms": ["epoch_ms(701222400000)", "epoch_ms(DATE '1992-03-22')"],
    "fdiv": ["fdiv(-7, 2)"],
    "fmod": ["fmod(-7, 2)"],
    "format": ["format('{:,}', 123456789)", "format('{:.2f} {:>5}', 3.14159, 'a')", "format('{1} {0}', 'a', 'b')"],
    "geomean": ["geomean(y)"],
    "geometric_mean": ["geometric_mean(y)"],
    "if": ["if(2 > 1, 'a', 'b')"],
    "make_date": ["make_date(19000)"],
    "make_timestamp": ["make_timestamp(1667810584123456)"],
    "make_timestamptz": ["make_timestamptz(2022, 12, 31, 22, 58, 59.5)"],
    "mad": ["mad(a)", "mad(CAST(x AS DECIMAL(6, 2)))"],
    "median": ["median(a)", "median(CAST(c AS VARCHAR))"],
    "mod": ["mod(-7, 3)"],
    "mode": ["mode(a)", "mode(c)"],
    "nanosecond": ["nanosecond(TIMESTAMP '2021-08-03 11:59:44.123456')"],
    "nullif": ["nullif(1, 1)", "nullif(1, 2)"],
    "printf": ["printf('%5d|%-5s|%08.3f|%x', 42, 'ab', 3.14159::DOUBLE, 255)"],
    "quantile": ["quantile(x, 0.5)"],
    "quantile_cont": ["quantile_cont(a, 0.25)"],
    "quantile_disc": ["quantile_disc(a, 0.3)", "quantile_disc(c, 0.5)", "quantile_disc(a, 0.75 ORDER BY a DESC)"],
    "regexp_extract": [
        "regexp_extract('2023-04-15', '(\\d+)-(\\d+)-(\\d+)', 2)",
        "regexp_extract('abc', 'x')",
        "regexp_extract('ABC', '([a-z])(b)', 2, 'i')",
    ],
    "regexp_full_match": ["regexp_full_match('ABC', 'a.c', 'i')"],
    "regexp_matches": ["regexp_matches('abc', '^b')", "regexp_matches('ABC', 'B', 'c')"],
    "regexp_replace": ["regexp_replace('hello', '([lo])', '<\\1>', 'g')", "regexp_replace('HELLO', 'l', 'x', 'gi')"],
    "split_part": ["split_part('a;b;c', ';', 2)", "split_part('a;b;c', ';', -1)"],
    "strptime": [
        "strptime('29.2.2024 1:02:03.5 PM', '%d.%m.%Y %I:%M:%S.%f %p')",
        "strptime('2024-01-01 00:00:00+0130', '%Y-%m-%d %H:%M:%S%z')",
        "strptime('2024 60', '%Y %j')",
        "strptime('2024 5 3', '%Y %U %w')",
    ],
    "string_agg": ["string_agg(CAST(c AS VARCHAR) ORDER BY b)", "string_agg(CAST(a AS VARCHAR), ', ' ORDER BY b DESC)"],
    "sum": ["sum(x)"],
    "time_bucket": [
        "time_bucket(INTERVAL '15 minutes', TIMESTAMP '1992-04-20 15:26:00')",
        "time_bucket(INTERVAL '3 months', DATE '1992-05-20')",
        "time_bucket(INTERVAL '10 days', DATE '1992-05-20', DATE '1992-05-01')",
        "time_bucket(INTERVAL '2 days', DATE '1992-04-20', INTERVAL '1 day')",
    ],
    "typeof": ["typeof('abc')", "typeof(1.5)", "typeof(DATE '2024-01-01')"],
    "wavg": ["wavg(y, x)"],
    "weighted_avg": ["weighted_avg(y, x)"],
} | {
    name: [f"{name}({value})" for value in ("DATE '2024-12-30'", "INTERVAL '14 months 3 days 5 hours'", "NULL::DATE")]
    for name in ("year", "quarter", "month", "day", "hour", "minute", "second", "decade", "century", "millisecond", "epoch")
} | {
    name: [f"{name}({value})" for value in ("DATE '2024-12-30'", "DATE '2023-01-01'", "NULL::TIMESTAMP")]
    for name in ("week", "weekofyear", "yearweek", "isoyear", "isodow", "dayofweek", "dayofyear", "last_day", "dayname", "monthname")
}

#: Arguments of aggregates whose examples don't call them, or not with the types of `TABLE`.
ARGUMENTS = {
    "y, x": ["corr", "covar_pop", "covar_samp"],
    "c": ["bool_and", "bool_or", "count_if", "countif"], "a, b": ["arg_max_nulls_last", "arg_min_nulls_last"],
    "x, 0.5": ["quantile"], "": ["count_star"],
}

OPERATOR = re.compile(r"^[^a-zA-Z_]|^IS ")


def examples(db):
    """The examples by the name of their function: DuckDB's, and those of `MORE`."""
    rows = db.execute(
        "SELECT function_name, any_value(function_type), flatten(list(examples)) FROM duckdb_functions()"
        " WHERE schema_name = 'main' AND function_type IN ('scalar', 'aggregate', 'macro') GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    found = {}
    for name, kind, given in rows:
        given = sorted(set(given or []))
        wanted = next((f"{name}({of})" for of, names in ARGUMENTS.items() if name in names), None)
        if wanted is None and name.startswith("regr_"):
            wanted = f"{name}(y, x)"
        calls = re.compile(rf"(?i)\b{re.escape(name)}\s*\(")
        if not OPERATOR.match(name):
            # That of another function which is computed so, or of one that this is an alias of.
            given = [e for e in given if calls.search(e)] or [f"{name}({rest})" for rest in arguments(given, kind)]
            given = [wanted] if wanted else given
        for literal, known in REWRITTEN.items():
            given = [e.replace(literal, known) for e in given]
        found[name] = [e.rstrip(";") for e in given]
    for name, given in MORE.items():
        found.setdefault(name, []).extend(e for e in given if e not in found.get(name, []))
    return found


def arguments(given, kind):
    """The arguments of examples that call another function."""
    if kind == "aggregate":
        return ["x"]
    return [e[e.index("(") + 1 : -1] for e in given if re.fullmatch(r"\w+\(.*\)", e)]


def left_out(name, example):
    """Why an example is left out."""
    for reason, names in LEFT_OUT.items():
        if re.fullmatch(names, name):
            return reason
    return next((reason for reason, what in LEFT_OUT_BY_EXAMPLE.items() if re.search(what, example)), None)


def statement(example):
    """An example as a statement."""
    text = re.sub(r"'[^']*'", "", example)
    of_table = re.search(r"(?i)(?<![\w.'])(a|b|x|y|c|n|col)(?![\w'(])", text)
    example = re.sub(r"(?i)\bcol\b|(?<=, )\bN\b(?=\))", lambda m: "x" if m[0].lower() == "col" else "2", example)
    return f"SELECT {example} AS result" + (f" FROM {TABLE}" if of_table else "")


def clock(result):
    """A result whose times of day are text."""
    classes = ["C" if c.startswith(("TIME", "Time")) else "T" if c == "UUID" else c for c in result.classes]
    text = lambda v: re.sub(r"\.?0+$", "", str(v)) if "." in str(v) else str(v)  # noqa: E731
    rows = [tuple(text(v) if c == "C" and v is not None else str(v) if c == "T" and v is not None else v for v, c in zip(row, classes)) for row in result.rows]
    return compare.Result(classes, rows, result.singles)


def answer(system, sql):
    try:
        return clock(system.run(sql))
    except Failed as failed:
        return failed


def judge(duckdb, palais, sql):
    """What becomes of a statement, and both answers."""
    expected, given = answer(duckdb, sql), answer(palais, sql)
    if isinstance(expected, Failed):
        return "unasked", expected.message, None
    if isinstance(given, Failed):
        if given.at == "end":
            return "ended", given.message, None
        return "refused" if given.at == "plan" else "differ", given.message, expected
    how = compare.difference(expected, given, True)
    return ("agree" if how in (None, "types") else "differ"), given, expected


def shown(answer):
    """The value of an answer, or what was said instead, in a line."""
    if isinstance(answer, compare.Result):
        return ", ".join(repr(value) for row in answer.rows for value in row)
    return str(answer).splitlines()[0] if answer else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runner", required=True, type=Path)
    parser.add_argument("--verbose", action="store_true", help="list what is left out too")
    args = parser.parse_args()
    duckdb, palais = DuckDB(), Runner(args.runner)
    palais.open("base", {})
    found = {"agree": [], "differ": [], "refused": [], "unasked": [], "ended": []}
    outside = {}
    for name, given in examples(duckdb.db).items():
        for example in given:
            if reason := left_out(name, example):
                outside.setdefault(reason, []).append(name)
                continue
            kind, mine, theirs = judge(duckdb, palais, statement(example))
            found[kind].append((name, example, mine, theirs))
    palais.stop()
    problems = 0
    for kind in ("ended", "unasked"):
        for name, example, mine, _ in found[kind]:
            problems += 1
            print(f"{kind}  {example}: {shown(mine)}")
    for kind, allowed in (("differ", DIFFER), ("refused", REFUSED)):
        names = {key for name, example, *_ in found[kind] for key in (name, example)}
        for name, example, mine, theirs in found[kind]:
            known = name in allowed or example in allowed
            problems += not known
            mark = " (known)" if known else ""
            print(f"{kind}{mark}  {name}: {example}\n    palais: {shown(mine)}\n    duckdb: {shown(theirs)}")
        for name in sorted(allowed.keys() - names):
            problems += 1
            print(f"{name} is answered as DuckDB does: not one of {'DIFFER' if kind == 'differ' else 'REFUSED'}")
    for reason, names in outside.items():
        listed = f": {' '.join(sorted(set(names)))}" if args.verbose else ""
        print(f"left out, {reason}: {len(names)} examples of {len(set(names))} functions{listed}")
    asked = sum(len(found[kind]) for kind in ("agree", "differ", "refused", "ended"))
    counts = ", ".join(f"{len(found[kind])} {kind}" for kind in ("agree", "differ", "refused"))
    print(f"{asked} examples: {counts}; {100 * len(found['agree']) / asked:.1f} % agree; {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
