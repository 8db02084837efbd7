"""What expressions are made of: templates by the kind that they give.

`{I}` is an expression of that kind, `{I0}` a column or a constant, `{k}` and `{k0}` are of a kind that is the same in the
whole template, `{l}` a constant of that kind, `{c}` a column or a constant of it and the same one each time, and `[a|b]`
is one of the texts. A template that occurs more than once is taken more often. What docs/sql.md lists as different from
DuckDB is not here. Those over lists, structs, maps and JSON are in `nested.py`.
"""

import re

COMPARE = "[=|=|=|<>|<|<=|>|>=]"
PART = "[year|month|day|quarter|week|dow|doy|isodow|isoyear]"
INTERVAL = "INTERVAL '[1 day|2 days|1 month|3 hours|90 minutes|1 year|1 month 2 days]'"
ZONE = "[UTC|Europe/Berlin|America/New_York]"

TEMPLATES = {
    "B": [
        f"({{k}} {COMPARE} {{k}})",
        f"({{k}} {COMPARE} {{k}})",
        f"({{k}} {COMPARE} {{k}})",
        f"({{k}} {COMPARE} {{k0}})",
        # Other kinds beside one another. Floats have 64 bits there: a decimal beside a FLOAT is a FLOAT in DuckDB.
        f"(CAST({{F}} AS DOUBLE) {COMPARE} [{{I}}|{{N}}])",
        f"([{{I}}|{{N}}] {COMPARE} CAST({{F}} AS DOUBLE))",
        f"({{I}} {COMPARE} {{N}})",
        f"([{{D}}|{{Z}}] {COMPARE} {{P}})",
        f"({{D}} {COMPARE} {{Z}})",
        f"([{{D}}|{{P}}|{{Z}}] {COMPARE} '[2024-01-01|2024-02-29|1969-12-31|2024-01-01 12:30:00]')",
        f"({{V}} {COMPARE} {{V}})",
        "({k} IS [NULL|NOT NULL])",
        "({k} IS [NULL|NOT NULL])",
        "({k} IS [DISTINCT|NOT DISTINCT] FROM {k})",
        "({k} [BETWEEN|NOT BETWEEN] {k0} AND {k0})",
        "({k} [IN|NOT IN] ({k0}, {k0}, {k0}))",
        "({k} [IN|NOT IN] ({k0}))",
        "(({c} [IN|NOT IN] ({l}, {l})) [AND|OR] ({c} [IN|NOT IN] ({l}, {l}, {k0})))",
        "(NOT (({c} [IN|NOT IN] ({l}, {l})) [AND|OR] ({c} [IN|NOT IN] ({l}, {l}, {l}))))",
        "((({c} = {l}) OR ({c} = {l})) [AND|OR] (({c} = {l}) OR ({c} [=|<>] {l})))",
        "(coalesce({k}, {k0}) [=|<>] {k})",
        "({B} [AND|OR] {B})",
        "({B} [AND|OR] {B})",
        "({B} AND {B} AND {B})",
        "({B} OR {B} OR {B})",
        "(({B} AND {B}) OR ({B} AND {B}))",
        "(NOT {B})",
        "(NOT {B})",
        "({B} IS [TRUE|FALSE|UNKNOWN|NOT TRUE|NOT FALSE|NOT UNKNOWN])",
        "({B} [=|<>] {B})",
        "({T} [LIKE|NOT LIKE|ILIKE] '[%|a%|%b|_|%a%|a_|__||longer%|%twelve%]')",
        "[starts_with|ends_with|contains]({T}, '[a|b|longer|]')",
        "(CAST({T} AS VARCHAR) ~ '[a|^a|b$|.*|^longer.*too$]')",
        "[regexp_matches|regexp_full_match](CAST({T} AS VARCHAR), '[a|^a|B|.*b]'[|, 'i'])",
        "isnan(CAST({F} AS DOUBLE))",
        "CAST({I} AS BOOLEAN)",
        "{B0}",
    ],
    "I": [
        "({I} [+|-] {I})",
        "({I} [+|-|*] {I0})",
        "({I} [+|-] [1|2|10])",
        "({I} [//|%] [2|3|7|(-2)])",
        "({I} [//|%] nullif({I}, 0))",
        "(-{I})",
        "abs({I})",
        "({I} & {I0})",
        "({I} | {I0})",
        "[length|char_length|bit_length|ascii](CAST({T} AS VARCHAR))",
        "strpos({T}, '[a|b|| ]')",
        "position('[a|twelve]' IN {T})",
        f"extract({PART} FROM {{D}})",
        f"date_part('{PART}', {{D}})",
        f"extract([hour|minute|{PART[1:-1]}] FROM [{{P}}|{{Z}}])",
        "[year|month|day|quarter|week|isoyear|dayofweek|dayofyear]([{D}|{P}])",
        "[date_diff|date_sub]('[year|quarter|month|week|day]', {D}, {D0})",
        "[date_diff|date_sub]('[month|day|hour|second]', {P}, {P0})",
        "if({B}, {I}, {I0})",
        "CAST({B} AS [INTEGER|BIGINT])",
        "({D} - {D})",
        "CAST({I} AS BIGINT)",
        "TRY_CAST({T} AS BIGINT)",
        "gcd({I}, [2|12])",
        "({I} // [2|7|-3])",
        "(~CAST({I} AS BIGINT))",
        "CAST(floor(CAST({N} AS DECIMAL(12, 2))) AS BIGINT)",
    ],
    "F": [
        "({F} [+|-|*] {F})",
        # Rounded: what is 0 but for the order of the computation would make any number of it.
        "({F} / nullif(round(CAST({F} AS DOUBLE), 6), 0e0))",
        "({N} / nullif({N}, 0))",
        "({I} / nullif({I}, 0))",
        "({I} / nullif(round(CAST({F} AS DOUBLE), 6), 0e0))",
        "({I} [+|-|*] {F})",
        # A decimal with a FLOAT is a FLOAT in DuckDB, with its rounding.
        "({N} [+|-|*] CAST({F} AS DOUBLE))",
        "(-{F})",
        "[abs|floor|ceil|trunc|round](CAST({F} AS DOUBLE))",
        "round(CAST({F} AS DOUBLE), [0|1|2|-1])",
        "sqrt(abs(CAST({F} AS DOUBLE)))",
        "power(CAST({F} AS DOUBLE), [2|0|0.5e0])",
        "ln(abs(CAST({F} AS DOUBLE)) + 1)",
        "CAST([{I}|{N}|{F}] AS DOUBLE)",
        "CAST([{I}|{F}] AS FLOAT)",
        "extract([epoch|second] FROM {P})",
    ],
    "N": [
        # Products and sums may have so many digits that DuckDB gives up some of them beside other decimals.
        "CAST(({N} * {N}) AS DECIMAL(30, 6))",
        "({N} [+|-] {N})",
        "({N} [+|-] {N0})",
        "CAST(({I} [+|-|*] {N0}) AS DECIMAL(30, 6))",
        "(-{N})",
        "abs({N})",
        "CAST([{I}|{N}] AS DECIMAL([20, 2|18, 4|12, 1|38, 6]))",
        "round({N}, [0|1|2])",
        "[floor|ceil|trunc]({N})",
        "TRY_CAST({T} AS DECIMAL(9, 2))",
    ],
    "T": [
        "({T} || {T})",
        "({T} || CAST({I} AS VARCHAR))",
        "[upper|lower|trim|ltrim|rtrim|reverse](CAST({T} AS VARCHAR))",
        "trim([BOTH|LEADING|TRAILING] 'a' FROM CAST({T} AS VARCHAR))",
        "[substr|substring](CAST({T} AS VARCHAR), [1|2|3], [0|1|2|9])",
        "substring(CAST({T} AS VARCHAR) FROM 2)",
        "[left|right](CAST({T} AS VARCHAR), [0|1|2|3|-1])",
        "replace(CAST({T} AS VARCHAR), 'a', '[|bb]')",
        "regexp_replace(CAST({T} AS VARCHAR), '[a|b+|^.]', 'x')",
        "regexp_replace(CAST({T} AS VARCHAR), '([a|b])', '<\\1>'[|, 'g'])",
        "regexp_extract(CAST({T} AS VARCHAR), '[a|b.|^.]')",
        "strftime([{D}|{P}], '%Y-%m-%d %j %A')",
        "[dayname|monthname]([{D}|{P}])",
        "hex(CAST({T} AS VARCHAR))",
        "translate(CAST({T} AS VARCHAR), 'ab', 'ba')",
        "repeat(CAST({T} AS VARCHAR), [0|2])",
        "split_part(CAST({T} AS VARCHAR), '[ |a|,]', [1|2])",
        "concat({T}, {T})",
        "concat_ws('-', {T}, {T})",
        "CAST([{I}|{B}|{D}] AS VARCHAR)",
        "CAST(CAST({N} AS DECIMAL(20, 3)) AS VARCHAR)",
        "[lpad|rpad](CAST({T} AS VARCHAR), [0|2|5], '.')",
    ],
    "X": ["CAST(CAST({I} AS VARCHAR) AS BLOB)"],
    "D": [
        "({D} [+|-] [1|7|30])",
        "CAST([{D}|{P}|{Z}] AS DATE)",
        "CAST({D} [+|-] INTERVAL '[1 month|2 days|1 year]' AS DATE)",
        "CAST(date_trunc('[month|year|week|quarter]', {D}) AS DATE)",
        "last_day([{D}|{P}])",
        "make_date([1999|2024], [2|12], [28|1])",
        "TRY_CAST({T} AS DATE)",
    ],
    "P": [
        f"({{P}} [+|-] {INTERVAL})",
        "({P} [+|-] ({P0} - {P0}))",
        "CAST([{D}|{P}|{Z}] AS TIMESTAMP)",
        "date_trunc('[hour|day|month|minute|second|week]', {P})",
        f"({{Z}} AT TIME ZONE '{ZONE}')",
        "time_bucket(INTERVAL '[1 month|1 week|15 minutes|3 years]', {P})",
    ],
    "Z": [
        f"({{Z}} [+|-] {INTERVAL})",
        "CAST([{D}|{P}|{Z}] AS TIMESTAMP WITH TIME ZONE)",
        "date_trunc('[hour|day|month]', {Z})",
        f"({{P}} AT TIME ZONE '{ZONE}')",
    ],
    "V": [
        "({P} - {P})",
        "({Z} - {Z})",
        "age({P}, {P0})",
        INTERVAL,
        f"(({{P}} - {{P}}) [+|-] {INTERVAL})",
        f"(-{INTERVAL})",
    ],
}

#: What begins with these gives floats whose last digits depend on the order of the computation: no order of rows may
#: hang on them.
INEXACT = re.compile("f?avg|stddev|var_|covar_|percentile_cont|median|ln|power|sqrt")

#: For any kind.
GENERAL = [
    "coalesce({k}, {k})",
    "coalesce({k}, {k}, {k0})",
    "nullif({k}, {k})",
    "ifnull({k}, {k0})",
]
ORDERED = [
    "[greatest|least]({k}, {k})",
    "[greatest|least]({k}, {k0}, {k0})",
]

CASES = [
    "CASE WHEN {B} THEN {k} ELSE {k} END",
    "CASE WHEN {B} THEN {k} END",
    "CASE WHEN {B} THEN {k} WHEN {B} THEN {k} ELSE {k} END",
    "CASE {I} WHEN {I0} THEN {k} ELSE {k} END",
    "CASE {T} WHEN {T0} THEN {k} WHEN {T0} THEN {k} END",
    "CASE {D} WHEN {D0} THEN {k} ELSE {k} END",
]

#: Aggregates by the kind that they give; those of ANY give the kind of their argument. `{f}` is a FILTER, mostly none.
AGGREGATES = {
    "I": [
        "count(*){f}",
        "count(*){f}",
        "count({k}){f}",
        "count(DISTINCT {k}){f}",
        "sum({I}){f}",
        "sum({I}){f}",
        "sum(DISTINCT {I}){f}",
        "[bit_and|bit_or|bit_xor]([|DISTINCT ]{I}){f}",
        "regr_count({I}, {I}){f}",
        "quantile_disc([|DISTINCT ]{I}, [0|0.25|0.5|1]){f}",
        # Of no rows it is NULL in DuckDB.
        "coalesce(count_if({B}){f}, 0)",
    ],
    # Of 64 bits: what DuckDB makes of a FLOAT depends on the order.
    "F": [
        "avg([{I}|{N}|CAST({F} AS DOUBLE)]){f}",
        "avg({I}){f}",
        "avg(DISTINCT {I}){f}",
        "sum(CAST({F} AS DOUBLE)){f}",
        "CAST(sum({N}){f} AS DOUBLE)",
        "median([|DISTINCT ][{I}|CAST({F} AS DOUBLE)]){f}",
        "[stddev|stddev_pop|var_pop|var_samp]([|DISTINCT ]{I}){f}",
        "[covar_pop|covar_samp]({I}, {I}){f}",
        "mad({I}){f}",
        "favg({I}){f}",
        "percentile_cont([0.5|0.25|0|1]) WITHIN GROUP (ORDER BY [{I}|CAST({F} AS DOUBLE)]){f}",
    ],
    "N": ["CAST(sum([|DISTINCT ]{N}){f} AS DECIMAL(30, 6))"],
    "B": ["[bool_and|bool_or]({B}){f}"],
}
ANY = "[min|max]({k}){f}"
