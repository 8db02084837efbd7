"""Random queries: FROM, SELECT, GROUP BY, set operations, WITH, LIMIT."""

import re

from scope import Column, Place, Scope
from subqueries import Subqueries
from tables import KINDS, NESTED, TYPES, VALUES, literal
from tree import Many, Maybe, Node

JOINS = ["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "SEMI JOIN", "ANTI JOIN"]


def names_result(having, keys, items, names):
    """Whether HAVING has a key that is an expression over a column, in which DuckDB takes another item of that name."""
    others = {name for (item, _), name in zip(items, names) if str(item).rpartition(".")[2] != name}
    computed = [key for key in keys if "(" in key and key in str(having)]
    return any(re.search(rf"(?<![.\w]){name}\b", key) for name in others for key in computed)


# Functions over windows that tell equal rows apart.
TELLS_APART = re.compile(r"^(row_number|ntile|lag|lead)\(| ROWS ")


class Queries(Subqueries):
    """Makes queries over some tables."""

    def __init__(self, rng, tables):
        super().__init__(rng, rng.choice([1, 2, 3, 4, 5, 6]))
        #: Names that FROM can have, each with its columns as pairs of a name and a kind.
        self.tables = [(table.name, [(c.name, c.kind) for c in table.columns]) for table in tables]
        self.count = 0

    def fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    # FROM

    def from_clause(self, around, depth):
        """A FROM clause and its columns."""
        clause, columns = self.item(around, depth, [])
        for _ in range(self.rng.choice([0, 0, 0, 1, 1, 1, 2, 3])):
            if self.budget > 0:
                clause, columns = self.join(clause, columns, around, depth)
        # A comma binds less than JOIN, so that it stands last.
        if self.budget > 0 and self.chance(0.08):
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
                operator = "=" if self.chance(0.8) or l.kind in NESTED else rng.choice(["<", ">=", "<>", "IS NOT DISTINCT FROM"])
                conditions.append(Node("B", "(", spell(l), f" {operator} ", spell(r), ")"))
        if not conditions or self.chance(0.25):
            conditions.append(self.expression("B", place, rng.choice([0, 1, 1, 2])))
        rng.shuffle(conditions)
        return Many(conditions, " AND ")

    # SELECT

    def names(self, items):
        """Names for the columns of a query, all different; a column keeps its name mostly."""
        names = []
        for item, _ in items:
            name = str(item).rpartition(".")[2]
            if not name.isalnum() or not name[0].isalpha() or name in names or name in ("NULL", "true", "false") or self.chance(0.2):
                name = f"c{len(names)}"
                while name in names:
                    name += "x"
            names.append(name)
        return names

    def select(self, around, kinds, depth):
        """A SELECT and its columns, as pairs of a name and a kind."""
        rng = self.rng
        if self.chance(0.04):
            return self.constants(around, kinds)
        clause, columns = self.from_clause(around, depth)
        scope = Scope(columns, around)
        where = self.where(scope, depth) if around or self.chance(0.6) else ""
        if self.chance(0.35):
            return self.grouped(clause, where, scope, kinds, depth)
        place = Place(scope)
        if kinds is None and self.chance(0.12) and not any(c.bare for c in columns) and len({c.name for c in columns}) == len(columns):
            return self.star(clause, where, columns, place)
        wanted = kinds or [self.kind(place) for _ in range(rng.choice([1, 2, 2, 3]))]
        items = [(self.expression(kind, place, rng.choice([0, 1, depth])), kind) for kind in wanted]
        distinct = Maybe("DISTINCT ") if self.chance(0.15) else ""
        return self.selected(items, self.names(items), kinds, distinct, " FROM ", clause, where)

    def star(self, clause, where, columns, place):
        """SELECT * with or without changes to it."""
        rng, changes = self.rng, []
        if len(columns) > 1 and self.chance(0.25):
            out = rng.choice(columns)
            columns = [c for c in columns if c is not out]
            changes.append(f" EXCLUDE ({out.name})")
        if self.chance(0.25):
            column = rng.choice(columns)
            changes.append(Node("", " REPLACE (", self.expression(column.kind, place, 1), f" AS {column.name})"))
        return Node("", "SELECT *", *changes, " FROM ", clause, where), [(c.name, c.kind) for c in columns]

    def selected(self, items, names, kinds, distinct, *rest):
        """SELECT … of these items under these names, and what stands behind."""
        pieces = [Node("", item, f" AS {name}") for (item, _), name in zip(items, names)]
        listed = Many(pieces, least=len(pieces) if kinds else 1)
        return Node("", "SELECT ", distinct, listed, *rest), [(name, kind) for name, (_, kind) in zip(names, items)]

    def constants(self, around, kinds):
        """A SELECT without FROM, or VALUES."""
        wanted = kinds or [self.rng.choice(KINDS) for _ in range(self.rng.choice([1, 2]))]
        place = Place(Scope([], around), None, False, 0.5)
        items = [(self.expression(kind, place, 1), kind) for kind in wanted]
        where = Maybe(" WHERE ", self.expression("B", place, 1)) if self.chance(0.3) else ""
        return self.selected(items, self.names(items), kinds, "", where)

    def grouped(self, clause, where, scope, kinds, depth):
        """A SELECT with aggregates; with keys, or without."""
        rng, rows = self.rng, Place(scope, None, False, 0)
        keys = []
        for _ in range(rng.choice([0, 0, 1, 1, 2, 2, 3])):
            kind = self.kind(rows)
            key = scope.own(rng, kind)
            if key and self.chance(0.2):
                made = self.expression(kind, rows, 1)
                key = made if str(key).rpartition(".")[2] in str(made) and "(" in str(made) else key
            # A column that is spelled in two ways would be one key for palais and two for DuckDB.
            if key and column_of(key) not in [column_of(k) for _, k in keys]:
                keys.append((kind, key))
        by, has_sets = self.group_by(keys)
        place = Place(scope, keys, has_sets=has_sets)
        wanted = kinds or [rng.choice([kind for kind, _ in keys] + ["I", "F"]) for _ in range(rng.choice([1, 2, 3]))]
        items = []
        for kind in wanted:
            of_kind = [key for key_kind, key in keys if key_kind == kind]
            if self.chance(0.08):
                items.append((self.constant(kind), kind))
            elif of_kind and self.chance(0.6):
                items.append((Node(kind, str(rng.choice(of_kind))), kind))
            else:
                items.append((self.expression(kind, place, rng.choice([0, 1, 2])), kind))
        if not keys and not any("(" in str(item) for item, _ in items):
            items[0] = (self.aggregate(items[0][1], place), items[0][1])
        having = Maybe(" HAVING ", self.expression("B", place, rng.choice([0, 1, 1, 2]))) if self.chance(0.25) else ""
        distinct = Maybe("DISTINCT ") if self.chance(0.05) else ""
        if keys and not has_sets and self.chance(0.25):
            by = self.group_by_items(keys, items) or by
        names = self.names(items)
        if names_result(having, [str(key) for _, key in keys], items, names):
            having = ""
        return self.selected(items, names, kinds, distinct, " FROM ", clause, where, by, having)

    def group_by_items(self, keys, items):
        """GROUP BY of what is selected, by positions or ALL, if that means these keys; or None."""
        texts, keys = [str(item) for item, _ in items], [str(key) for _, key in keys]
        if not set(keys) <= set(texts):
            return None
        others = [text for text in texts if text not in keys]
        # Of constants alone DuckDB makes no group.
        if self.chance(0.5) and others and all(is_aggregate(text) for text in others):
            return " GROUP BY ALL"
        positions = [texts.index(key) + 1 for key in keys]
        return f" GROUP BY {', '.join(map(str, positions))}"

    def group_by(self, keys):
        """A GROUP BY clause, and whether it has several sets of keys."""
        rng = self.rng
        if not keys:
            return (" GROUP BY ()", False) if self.chance(0.04) else ("", False)
        texts = [str(key) for _, key in keys]
        form = rng.choices(["plain", "rollup", "cube", "sets", "mixed", "tuple"], [20, 2, 2, 4, 1, 1])[0]
        if form in ("rollup", "cube"):
            return f" GROUP BY {form.upper()} ({', '.join(texts)})", True
        if form == "mixed" and len(texts) > 1:
            return f" GROUP BY {texts[0]}, {rng.choice(['ROLLUP', 'CUBE'])} ({', '.join(texts[1:])})", True
        if form == "tuple" and len(texts) > 1:
            return f" GROUP BY ({', '.join(texts)})", False
        if form == "sets":
            sets = [rng.sample(texts, rng.choice(range(len(texts) + 1))) for _ in range(rng.choice([1, 2, 3]))] + [texts]
            rng.shuffle(sets)
            sets = [s[0] if len(s) == 1 and self.chance(0.5) else f"({', '.join(s)})" for s in sets]
            beside = f", ({', '.join(texts)})" if self.chance(0.1) else ""
            return Node("", " GROUP BY GROUPING SETS (", Many(sets), ")", Maybe(beside)), True
        return f" GROUP BY {', '.join(texts)}", False

    # Queries

    def query(self, around, kinds, depth):
        """A query and its columns; of these kinds, if they are given."""
        outside, names = self.tables, []
        if depth > 0 and self.budget > 1 and self.chance(0.06):
            self.tables = list(outside)
            names = [Maybe("WITH ", Many(self.with_names(depth - 1, around if self.chance(0.2) else None)), " ")]
        node, columns = self.select(around, kinds, depth)
        if depth >= 0 and self.budget > 0 and self.chance(0.15):
            node, columns = self.set_operation(node, columns, around, depth)
        elif not names and self.chance(0.04) and self.can_order(columns):
            node = self.first_of_each(node, columns)
        elif kinds is None and not names and self.chance(0.08) and self.can_order(columns):
            node, columns = self.windowed(node, columns)
        if self.chance(0.12) and self.can_order(columns):
            node = self.limited(node, columns)
        self.tables = outside
        return Node("query" + "".join(kind for _, kind in columns), *names, node), columns

    def first_of_each(self, node, columns):
        """The first row of each value of some columns, under an order of all."""
        names = [name for name, _ in columns]
        by = names[: self.rng.choice(range(1, len(names) + 1))]
        rest = [f"{name}{self.rng.choice(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'])}" for name in names]
        listed = ", ".join(names)
        return Node("", f"SELECT DISTINCT ON ({', '.join(by)}) {listed} FROM (", node, f") AS {self.fresh('d')} ORDER BY {', '.join(rest)}")

    def windowed(self, node, columns):
        """The query with functions over windows behind its columns. The windows have an order of all of these, so that
        peers are equal rows; some may be filtered by the results."""
        names = [name for name, _ in columns]
        made = [self.over(columns) for _ in range(self.rng.choice([1, 1, 2]))]
        # Which of several equal rows has which number is not defined, and so is what goes with it.
        apart = [TELLS_APART.search(text) is not None for text, _ in made]
        made = made[:1] if all(apart) else made
        added = [(f"o{i}", kind) for i, (_, kind) in enumerate(made) if f"o{i}" not in names]
        items = Many([f"{text} AS {name}" for (text, _), (name, _) in zip(made, added)])
        node = Node("", f"SELECT {', '.join(names)}, ", items, " FROM (", node, f") AS {self.fresh('o')}")
        if not any(apart) and self.chance(0.15):
            node = Node("", node, f" QUALIFY row_number() OVER (ORDER BY {', '.join(names)}) {self.rng.choice(['> 1', '<= 2', '% 2 = 1'])}")
        return node, columns + added

    def over(self, columns):
        """A function over a window, and its kind."""
        rng = self.rng
        names = [name for name, _ in columns]
        name, kind = rng.choice(columns)
        nulls = rng.choice(["", "", " IGNORE NULLS"])
        functions = [("row_number()", "I"), ("rank()", "I"), ("dense_rank()", "I"), (f"ntile({rng.choice([1, 2, 3])})", "I"),
                     (f"lag({name}, {rng.choice([0, 1, 2])}{nulls})", kind), (f"lead({name}{nulls})", kind),
                     (f"first_value({name}{nulls})", kind), (f"last_value({name}{nulls})", kind), (f"nth_value({name}, 2{nulls})", kind),
                     ("count(*)", "I"), (f"count({name})", "I"), (f"count(DISTINCT {name})", "I"), (f"min({name})", kind), (f"max({name})", kind)]
        functions = [f for f in functions if kind != "B" or not f[0].startswith(("min", "max"))]
        if kind in "IF":
            functions += [(f"sum({name})", kind)] * 3
        function, result = rng.choice(functions)
        partition = f"PARTITION BY {', '.join(rng.sample(names, rng.choice(range(1, len(names) + 1))))} " if self.chance(0.5) else ""
        order = ", ".join(f"{n}{rng.choice(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'])}" for n in rng.sample(names, len(names)))
        frame = rng.choice(["", "", " {} 1 PRECEDING", " {} BETWEEN 1 PRECEDING AND 1 FOLLOWING", " {} BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
                            " {} BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", " {} BETWEEN 2 FOLLOWING AND 3 FOLLOWING",
                            " {} BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", " {} CURRENT ROW"])
        frame = frame.format(rng.choice(["ROWS", "GROUPS"]))
        exclude = rng.choice(["", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"]) if frame else ""
        return f"{function} OVER ({partition}ORDER BY {order}{frame}{exclude})", result

    def set_operation(self, left, columns, around, depth):
        rng = self.rng
        wanted = [kind for _, kind in columns]
        operator = rng.choice(["UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
        if self.chance(0.12):
            return self.union_by_name(left, columns, around, depth)
        right, _ = self.select(around, wanted, depth - 1)
        sort = "query" + "".join(wanted)
        left, right = Node(sort, left), Node(sort, right)
        node = Node("", "(", left, f") {operator} (", right, ")") if self.chance(0.5) else Node("", left, f" {operator} ", right)
        return node, columns

    def union_by_name(self, left, columns, around, depth):
        """A union with a query that has these columns, or all but one of them, in another order."""
        rng = self.rng
        columns_of_right = rng.sample(columns, len(columns) - (len(columns) > 1 and self.chance(0.2)))
        right, _ = self.select(around, [kind for _, kind in columns_of_right], depth - 1)
        alias, names = self.fresh("u"), ", ".join(name for name, _ in columns_of_right)
        right = Node("", f"SELECT {names} FROM (", right, f") AS {alias}({names})")
        return Node("", left, f" UNION {rng.choice(['', 'ALL '])}BY NAME ", right), columns

    def can_order(self, columns):
        """Whether a query with these columns has an order that is the same in DuckDB."""
        return all(kind not in NESTED and not (kind == "F" and self.is_inexact) for _, kind in columns)

    def order(self, columns):
        rng = self.rng
        by = [f"{i}{rng.choice(['', ' ASC', ' DESC', ' DESC'])}{rng.choice(['', '', ' NULLS FIRST', ' NULLS LAST'])}" for i in range(1, len(columns) + 1)]
        rng.shuffle(by)
        return " ORDER BY " + ", ".join(by)

    def limited(self, node, columns):
        """The query with a LIMIT under an order of all its columns, so that which rows it has is clear."""
        rng = self.rng
        limit = Maybe(f" LIMIT {rng.choice([0, 1, 2, 3, 5])}") if self.chance(0.8) else ""
        offset = Maybe(f" OFFSET {rng.choice([0, 1, 2])}") if self.chance(0.3) or not limit else ""
        return Node("", node, self.order(columns), limit, offset)

    def with_names(self, depth, around=None):
        """WITH clauses, whose names can be used from here on."""
        clauses = []
        for _ in range(self.rng.choice([1, 1, 2])):
            query, columns = self.query(around, None, depth)
            name = self.fresh("w")
            kept = self.rng.choice(["", "", "", "MATERIALIZED ", "NOT MATERIALIZED "])
            clauses.append(Node("", f"{name} AS {'' if around else kept}(", query, ")"))
            # Names of WITH are used more often than those of tables.
            self.tables += [(name, columns)] * 3
        return clauses


def is_aggregate(text):
    """Whether an expression is one aggregate and nothing else, by its text."""
    if not re.match(r"(count|sum|avg|min|max|bool_and|bool_or|bit_\w+|stddev\w*|var_\w+|median)\(", text):
        return False
    depth = 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ")":
            return i == len(text) - 1
    return False


def column_of(key):
    """What tells whether two keys are one: a column without its table."""
    text = str(key)
    return text if "(" in text else text.rpartition(".")[2]
