"""Random FROM clauses: tables, joins, queries that name the tables before them, lists, rows turned."""

import re

from scope import Column, Place, Scope
from subqueries import Subqueries
from tables import KINDS, TYPES, VALUES, literal
from tree import Many, Node

JOINS = ["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "SEMI JOIN", "ANTI JOIN"]


class Relations(Subqueries):
    """Makes FROM clauses; their queries are made by the subclass."""

    def __init__(self, rng, family, tables):
        super().__init__(rng, family, rng.choice([1, 2, 3, 4, 5, 6]))
        #: Names that FROM can have, each with its columns as pairs of a name and a kind.
        self.tables = [(table.name, [(c.name, c.kind) for c in table.columns]) for table in tables]
        self.count = 0
        #: How many LATERAL there are around what is made.
        self.laterals = 0

    def fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def from_clause(self, around, depth):
        """A FROM clause and its columns."""
        clause, columns = self.item(around, depth, [])
        for _ in range(self.rng.choice([0, 0, 0, 1, 1, 1, 2, 3])):
            if self.budget > 0:
                clause, columns = self.join(clause, columns, around, depth)
        # A comma binds less than JOIN, so that it stands last.
        if self.budget > 0 and self.chance(0.08):
            if self.share("lateral", 0.15):
                right, more = self.lateral(columns, around, depth)
            else:
                right, more = self.item(around, depth, columns)
            clause, columns = Node("from", clause, ", ", right), columns + more
        return clause, columns

    def alias(self, letter, beside):
        """An alias that no table beside has; those of queries around may be the same."""
        alias = self.rng.choice(["x", "y"])
        if self.chance(0.2) and all(c.alias != alias for c in beside):
            return alias
        return self.fresh(letter)

    def item(self, around, depth, beside):
        """A table, a query or a list of values, beside a table with these columns."""
        rng = self.rng
        self.budget -= 1
        if depth > 0 and self.share("pivots", 0.02):
            query, columns = self.turned(depth - 1)
            alias = self.fresh("p")
            return Node("from", "(", query, f") AS {alias}"), [Column(alias, name, kind) for name, kind in columns]
        if depth > 0 and self.chance(0.25):
            reach = around if self.chance(0.3) else None
            query, columns = self.query(reach, None, depth - 1)
            alias = self.alias("q", beside)
            names = [name for name, _ in columns]
            renamed = ""
            if self.chance(0.15):
                names = [f"n{i}" for i in range(len(columns))]
                renamed = f"({', '.join(names)})"
            columns = [Column(alias, name, kind) for name, (_, kind) in zip(names, columns)]
            return Node("from", "(", query, f") AS {alias}{renamed}"), columns
        if self.chance(0.06):
            kinds = [rng.choice(KINDS) for _ in range(rng.choice([1, 2, 2]))]
            alias = self.fresh("v")
            names = rng.sample("kabc", len(kinds))
            row = lambda: Node("", "(", Many([literal(k, rng.choice(VALUES[k] + [None]), TYPES[k][0]) for k in kinds], least=len(kinds)), ")")
            rows = Many([row() for _ in range(rng.choice([1, 2, 4]))])
            return Node("from", "(VALUES ", rows, f") AS {alias}({', '.join(names)})"), [Column(alias, n, k) for n, k in zip(names, kinds)]
        if self.chance(0.04):
            alias = self.fresh("r")
            return Node("from", f"range({rng.choice([0, 1, 3, 5])}) AS {alias}(k)"), [Column(alias, "k", "I")]
        name, columns = rng.choice(self.tables)
        if self.chance(0.25) and all(c.alias != name for c in beside):
            return Node("from", name), [Column(name, c, kind) for c, kind in columns]
        alias = self.alias("x", beside)
        return Node("from", f"{name} AS {alias}"), [Column(alias, c, kind) for c, kind in columns]

    def join(self, left, columns, around, depth):
        rng = self.rng
        if self.share("lateral", 0.04):
            return self.join_lateral(left, columns, around, depth)
        if self.share("asof", 0.04) and (joined := self.join_nearest(left, columns)):
            return joined
        if self.share("lists", 0.02) or self.share("json", 0.01):
            return self.join_items(left, columns, around)
        right, more = self.item(around, depth, columns)
        if self.budget > 0 and self.chance(0.08):
            third, rest = self.item(around, 0, columns + more)
            how = rng.choice(JOINS[:6])
            right, more = Node("from", "(", right, f" {how} ", third, " ON ", self.on(more, rest), ")"), more + rest
        kind = rng.choice(JOINS)
        both = columns + more
        if kind == "CROSS JOIN":
            return Node("from", left, " CROSS JOIN ", right), both
        kept = columns if kind in ("SEMI JOIN", "ANTI JOIN") else both
        if self.chance(0.25) and (using := self.shared(columns, more)):
            return self.join_using(left, right, kind, using, columns, more, kept)
        return Node("from", left, f" {kind} ", right, " ON ", self.on(columns, more)), kept

    def shared(self, left, right):
        """Columns by which USING can join: of one name and kind, and once on each side."""
        once = lambda side: {c.name: c for c in side if sum(d.name == c.name for d in side) == 1 and not c.bare}
        left, right = once(left), once(right)
        return [name for name in left if name in right and left[name].kind == right[name].kind]

    def join_using(self, left, right, kind, using, columns, more, kept):
        rng = self.rng
        chosen = rng.sample(using, rng.choice([1, 1, min(2, len(using))]))
        common = {c.name for c in columns} & {c.name for c in more}
        natural = common == set(using) and self.chance(0.4) and "SEMI" not in kind and "ANTI" not in kind
        if natural:
            chosen = using
        kinds = {c.name: c.kind for c in columns}
        bare = [Column("", name, kinds[name], bare=True) for name in chosen]
        rest = [c for c in kept if c.name not in chosen]
        if natural:
            return Node("from", left, f" NATURAL {kind} ", right), bare + rest
        return Node("from", left, f" {kind} ", right, f" USING ({', '.join(chosen)})"), bare + rest

    def on(self, left, right):
        """A condition between two sides: mostly an equality, with others beside it or alone."""
        rng, place = self.rng, Place(Scope(left + right), subqueries=self.chance(0.03))
        pairs = [(l, r) for l in left for r in right if l.kind == r.kind]
        conditions = []
        spell = lambda c: place.scope.spell(rng, c)
        if pairs and self.chance(0.8):
            for l, r in rng.sample(pairs, min(len(pairs), rng.choice([1, 1, 1, 2]))):
                operator = "=" if self.chance(0.8) else rng.choice(["<", ">=", "<>", "IS NOT DISTINCT FROM"])
                conditions.append(Node("B", "(", spell(l), f" {operator} ", spell(r), ")"))
        if not conditions or self.chance(0.25):
            conditions.append(self.expression("B", place, rng.choice([0, 1, 1, 2])))
        rng.shuffle(conditions)
        return Many(conditions, " AND ")

    # Queries that name the tables before them

    def lateral(self, columns, around, depth):
        """LATERAL with a query over the columns before it, and its columns."""
        self.laterals += 1
        rng, reach = self.rng, Scope(columns, around)
        form = rng.choices(["any", "aggregate", "first"], [3, 2, 3])[0]
        if form == "any":
            query, made = self.query(reach, None, max(depth - 1, 0))
        elif form == "aggregate":
            clause, inner = self.from_clause(reach, 0)
            scope = Scope(inner, reach)
            kinds = [rng.choice("IIFTBL") for _ in range(rng.choice([1, 2]))]
            items = [(self.aggregate(kind, Place(scope, [])), kind) for kind in kinds]
            query, made = self.selected(items, self.names(items), None, "", " FROM ", clause, self.where(scope, 1))
        else:
            query, made = self.select(reach, None, 0)
            if self.can_order(made, reach):
                query = Node("", query, self.order(made), f" LIMIT {rng.choice([1, 1, 1, 2])}")
        self.laterals -= 1
        alias = self.fresh("l")
        node = Node("from", "LATERAL (", query, f") AS {alias}")
        return node, [Column(alias, name, kind) for name, kind in made]

    def join_lateral(self, left, columns, around, depth):
        right, more = self.lateral(columns, around, depth)
        how = self.rng.choice(["CROSS JOIN", "LEFT JOIN", "LEFT JOIN", "JOIN"])
        if how == "CROSS JOIN":
            return Node("from", left, " CROSS JOIN ", right), columns + more
        on = "true" if self.chance(0.7) else self.on(columns, more)
        return Node("from", left, f" {how} ", right, " ON ", on), columns + more

    # The nearest row

    def join_nearest(self, left, columns):
        """ASOF JOIN with a table in which the keys and the time are there once, so that the nearest row is one; or None."""
        rng = self.rng
        name, there = rng.choice(self.tables)
        there = [(column, kind) for column, kind in there if column != "m"]
        pairs = [(l, r) for l in columns for r in there if l.kind == r[1] and l.kind in "IFNTDPZ"]
        if not pairs:
            return None
        self.budget -= 1
        *equal, time = rng.sample(pairs, min(len(pairs), rng.choice([1, 1, 2, 2, 3])))
        equal = [(l, r) for l, r in equal if r[0] != time[1][0]]
        keys = dict(r for _, r in equal + [time])
        rest = [(column, kind) for column, kind in there if column not in keys]
        more, measures = [Column("", column, kind) for column, kind in keys.items()], []
        if rest and self.chance(0.8):
            column, kind = rng.choice(rest)
            measures, more = [f"{rng.choice(['min', 'max'])}({column}) AS m"], more + [Column("", "m", kind)]
        by = ", ".join(keys)
        source = f"(SELECT {', '.join([by, *measures])} FROM {name} GROUP BY {by})"
        alias = self.fresh("n")
        for column in more:
            column.alias = alias
        scope = Scope(columns + more)
        spelled = lambda column, of: f"{of}.{column}" if of else column
        conditions = [f"{spelled(l.name, l.alias)} = {alias}.{r[0]}" for l, r in equal]
        l, r = time
        conditions.append(f"{spelled(l.name, l.alias)} {rng.choice(['>=', '>=', '>', '<=', '<'])} {alias}.{r[0]}")
        how = rng.choice(["ASOF JOIN", "ASOF LEFT JOIN"])
        named = [c for c, _ in equal] + [l]
        once = all(sum(c.name == d.name for d in columns) == 1 for c in named) and len({c.name for c in named}) == len(named)
        if self.chance(0.4) and once and all(c.name == r[0] for c, r in equal + [time]):
            using = [c.name for c in named]
            bare = [Column("", c.name, c.kind, bare=True) for c in named]
            kept = [c for c in columns + more if c.name not in using]
            return Node("from", left, f" {how} {source} AS {alias} USING ({', '.join(using)})"), bare + kept
        if self.chance(0.12):
            named, beside = rng.choice([(columns, more), (more, columns)])
            side = Place(Scope(named, beside=beside), subqueries=False)
            conditions.append(str(self.expression("B", side, 1)))
        rng.shuffle(conditions)
        return Node("from", left, f" {how} {source} AS {alias} ON ", Many(conditions, " AND ", least=len(conditions))), scope.columns

    # Items of lists

    def join_items(self, left, columns, around):
        """A row for each item of a list, or each member of JSON, of the tables before it."""
        rng, place = self.rng, Place(Scope(columns, around), subqueries=False)
        alias = self.fresh("u")
        forms = {"L": "I", "K": "T", "range": "I", "J": ""}
        weights = [3, 2, 1, 1] if self.family != "json" else [1, 1, 1, 6]
        form = rng.choices(list(forms), weights)[0]
        if form == "J":
            value = self.expression(rng.choice("JQ"), place, 1)
            right = [rng.choice(["json_each", "json_each", "json_tree"]), "(", value, rng.choice(["", "", ", '$.b'"]), f") AS {alias}"]
            # Numbers without a sign, which are there too, are not alike beside others.
            kinds = {"key": "T", "value": "J", "type": "T", "atom": "J", "fullkey": "T", "path": "T"}
            more = [Column(alias, name, kind, partial=True) for name, kind in kinds.items()]
        elif form == "range":
            right = [rng.choice(["range", "generate_series"]), "(least(", self.expression("I", place, 0), f", 4)) AS {alias}(i)"]
            more = [Column(alias, "i", "I")]
        else:
            more = [Column(alias, "i", forms[form])]
            ordinality = self.chance(0.2)
            names = "(i, o)" if ordinality else "(i)"
            more += [Column(alias, "o", "I")] * ordinality
            right = ["UNNEST(", self.expression(form, place, 1), ")", " WITH ORDINALITY" * ordinality, f" AS {alias}{names}"]
        how = rng.choice(["CROSS JOIN", "CROSS JOIN", "LEFT JOIN", "JOIN"])
        on = " ON true" if how != "CROSS JOIN" else ""
        return Node("from", left, f" {how} ", *right, on), columns + more

    # Values as columns, and columns as values

    def turned(self, depth):
        """A query around PIVOT or UNPIVOT, and its columns."""
        query, columns = self.query(None, None, depth)
        return self.pivoted(query, columns) if self.chance(0.5) else self.unpivoted(query, columns)

    def pivoted(self, query, columns):
        rng = self.rng
        over = [(name, kind) for name, kind in columns if kind in "BITD"]
        if not over:
            return Node("query" + "".join(kind for _, kind in columns), query), columns
        on, kind = rng.choice(over)
        rest = [column for column in columns if column[0] != on]
        values = rng.sample(VALUES[kind], min(len(VALUES[kind]), rng.choice([1, 2, 3])))
        values = [literal("T", value) if kind in "TD" else value for value in values]
        by = rng.sample(rest, rng.choice(range(len(rest) + 1)))
        measured = [column for column in rest if column not in by]
        aggregates = [self.measure(measured) for _ in range(rng.choice([1, 1, 2]))]
        if len({text for text, _ in aggregates}) < len(aggregates):
            aggregates.pop()
        grouped = f" GROUP BY {', '.join(name for name, _ in by)}" if by else ""
        # Without GROUP BY the columns group that nothing names.
        if not by:
            by = [column for column in rest if not any(re.search(rf"\({column[0]}\b", text) for text, _ in aggregates)]
        kinds = [kind for _, kind in by] + [kind for _, kind in aggregates] * len(values)
        made = [(f"c{i}", kind) for i, kind in enumerate(kinds)]
        listed = ", ".join(text for text, _ in aggregates)
        alias, of = self.fresh("p"), self.fresh("t")
        names = f"{alias}({', '.join(name for name, _ in made)})"
        if self.chance(0.5):
            pivot = [f"(PIVOT (", query, f") ON {on} IN ({', '.join(values)}) USING {listed}{grouped})"]
        else:
            pivot = ["(", query, f") AS {of} PIVOT ({listed} FOR {on} IN ({', '.join(values)}){grouped})"]
        return Node("query" + "".join(kinds), "SELECT * FROM ", *pivot, f" AS {names}"), made

    def measure(self, columns):
        """An aggregate for PIVOT, and its kind."""
        name, kind = self.rng.choice(columns) if columns else ("", "")
        choices = [("count(*)", "I")]
        choices += [(f"min({name})", kind), (f"max({name})", kind), (f"count({name})", "I")] if kind and kind != "B" else []
        choices += [(f"sum({name})", "I")] * 3 if kind == "I" else []
        choices += [(f"list({name} ORDER BY {name})", "L")] if kind == "I" else []
        return self.rng.choice(choices)

    def unpivoted(self, query, columns):
        rng = self.rng
        kind = rng.choice(columns)[1]
        of_kind = [name for name, other in columns if other == kind]
        turned = rng.sample(of_kind, rng.choice(range(1, len(of_kind) + 1)))
        value, name, alias = self.fresh("v"), self.fresh("n"), self.fresh("t")
        kept = [column for column in columns if column[0] not in turned]
        nulls = rng.choice(["", "", "INCLUDE NULLS "])
        made = kept + [(name, "T"), (value, kind)]
        listed = ", ".join(column for column, _ in made)
        if self.chance(0.5):
            node = Node("", f"SELECT {listed} FROM (", query, f") AS {alias} UNPIVOT {nulls}({value} FOR {name} IN ({', '.join(turned)}))")
        else:
            node = Node("", f"SELECT {listed} FROM (UNPIVOT (", query, f") ON {', '.join(turned)} INTO NAME {name} VALUE {value})")
        return Node("query" + "".join(kind for _, kind in made), node), made
