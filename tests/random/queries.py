"""Random queries: FROM, SELECT, GROUP BY, set operations, WITH, LIMIT."""

import re

from recursion import Recursion
from scope import Place, Scope
from tables import KINDS, NESTED
from tree import Many, Maybe, Node


def names_result(having, keys, items, names):
    """Whether HAVING has a key that is an expression over a column, in which DuckDB takes another item of that name."""
    others = {name for (item, _), name in zip(items, names) if str(item).rpartition(".")[2] != name}
    computed = [key for key in keys if "(" in key and key in str(having)]
    return any(re.search(rf"(?<![.\w]){name}\b", key) for name in others for key in computed)


class Queries(Recursion):
    """Makes queries over some tables."""

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
        place = Place(scope, windows=True)
        if kinds is None and self.chance(0.12) and not any(c.bare or c.partial for c in columns) and len({c.name for c in columns}) == len(columns):
            return self.star(clause, where, columns, place)
        wanted = kinds or [self.kind(place) for _ in range(rng.choice([1, 2, 2, 3]))]
        items = [(self.expression(kind, place, rng.choice([0, 1, depth])), kind) for kind in wanted]
        distinct = Maybe("DISTINCT ") if self.chance(0.15) else ""
        qualify = self.qualify(place) if self.share("windows", 0.01) else ""
        return self.selected(items, self.names(items), kinds, distinct, " FROM ", clause, where, qualify)

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
                # ROLLUP takes `(a)` of `(a)[1]` for a list of keys.
                made = key if re.fullmatch(r"\(.*(\]|\.\w+)", str(made)) else made
                key = made if str(key).rpartition(".")[2] in str(made) and "(" in str(made) else key
            # A column that is spelled in two ways would be one key for palais and two for DuckDB.
            if key and column_of(key) not in [column_of(k) for _, k in keys]:
                keys.append((kind, key))
        by, has_sets = self.group_by(keys)
        place = Place(scope, keys, has_sets=has_sets)
        listed = Place(scope, keys, has_sets=has_sets, windows=True)
        wanted = kinds or [rng.choice([kind for kind, _ in keys] + ["I", "F"]) for _ in range(rng.choice([1, 2, 3]))]
        items = []
        for kind in wanted:
            of_kind = [key for key_kind, key in keys if key_kind == kind]
            if self.chance(0.08):
                items.append((self.constant(kind), kind))
            elif of_kind and self.chance(0.6):
                items.append((Node(kind, str(rng.choice(of_kind))), kind))
            else:
                items.append((self.expression(kind, listed, rng.choice([0, 1, 2])), kind))
        if not keys and not any("(" in str(item) for item, _ in items):
            items[0] = (self.aggregate(items[0][1], place), items[0][1])
        having = Maybe(" HAVING ", self.expression("B", place, rng.choice([0, 1, 1, 2]))) if self.chance(0.25) else ""
        # Of one group without keys DuckDB gives no row under DISTINCT in LATERAL.
        distinct = Maybe("DISTINCT ") if self.chance(0.05) and (keys or not self.laterals) else ""
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
        """A GROUP BY clause, and whether it has several sets of keys. In LATERAL the set without keys is not among them: of
        no rows DuckDB gives no group of it there."""
        rng = self.rng
        if not keys:
            return (" GROUP BY ()", False) if self.chance(0.04) else ("", False)
        texts = [str(key) for _, key in keys]
        form = rng.choices(["plain", "rollup", "cube", "sets", "mixed", "tuple"], [20, 2, 2, 4, 1, 1])[0]
        form = "sets" if self.laterals and form in ("rollup", "cube") else form
        if form in ("rollup", "cube"):
            return f" GROUP BY {form.upper()} ({', '.join(texts)})", True
        if form == "mixed" and len(texts) > 1:
            return f" GROUP BY {texts[0]}, {rng.choice(['ROLLUP', 'CUBE'])} ({', '.join(texts[1:])})", True
        if form == "tuple" and len(texts) > 1:
            return f" GROUP BY ({', '.join(texts)})", False
        if form == "sets":
            sets = [rng.sample(texts, rng.choice(range(len(texts) + 1))) for _ in range(rng.choice([1, 2, 3]))] + [texts]
            sets = [s for s in sets if s or not self.laterals]
            rng.shuffle(sets)
            sets = [s[0] if len(s) == 1 and self.chance(0.5) else f"({', '.join(s)})" for s in sets]
            beside = f", ({', '.join(texts)})" if self.chance(0.1) else ""
            return Node("", " GROUP BY GROUPING SETS (", Many(sets), ")", Maybe(beside)), True
        return f" GROUP BY {', '.join(texts)}", False

    # Queries

    def query(self, around, kinds, depth):
        """A query and its columns; of these kinds, if they are given."""
        outside, names, is_ordered = self.tables, [], False
        if depth > 0 and self.budget > 1 and self.chance(0.06):
            self.tables = list(outside)
            names = [self.with_clause(depth - 1, around if self.chance(0.2) else None)]
        node, columns = self.select(around, kinds, depth)
        if depth >= 0 and self.budget > 0 and self.chance(0.15):
            node, columns = self.set_operation(node, columns, around, depth)
        elif not names and self.chance(0.04) and self.can_order(columns) and not any(kind in NESTED for _, kind in columns):
            node, is_ordered = self.first_of_each(node, columns), True
        elif kinds is None and not names and self.share("windows", 0.08) and self.can_order(columns):
            node, columns = self.windowed(node, columns)
        elif kinds is None and not names and self.share("lists", 0.03):
            node, columns = self.unnested(node, columns)
        if not is_ordered and self.chance(0.12) and self.can_order(columns, around):
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

    def unnested(self, node, columns):
        """The query with the items of its lists, or of a constant list, in rows."""
        names, alias = [name for name, _ in columns], self.fresh("d")
        lists = [(name, kind) for name, kind in columns if kind in "LK"] + [(str(self.constant("L")), "L")]
        chosen = self.rng.sample(lists, self.rng.choice(range(1, min(len(lists), 2) + 1)))
        added = [(self.fresh("i"), "I" if kind == "L" else "T") for _, kind in chosen]
        items = Many([f"unnest({value}) AS {name}" for (value, _), (name, _) in zip(chosen, added)])
        return Node("", f"SELECT {', '.join(names)}, ", items, " FROM (", node, f") AS {alias}"), columns + added

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

    def can_order(self, columns, around=None):
        """Whether a query with these columns has an order that is the same in DuckDB. The first rows for each row around it
        have none of lists, structs and maps."""
        kinds = [kind for _, kind in columns]
        return not (self.is_inexact and "F" in kinds) and not (around and set(kinds) & set(NESTED))

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

    def with_clause(self, depth, around=None):
        """WITH and its names."""
        clauses = self.with_names(depth, around)
        if self.share("recursion", 0.12):
            return Maybe("WITH RECURSIVE ", Many([*clauses, self.recursive()]), " ")
        return Maybe("WITH ", Many(clauses), " ")

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
    if not re.match(r"(count|sum|avg|min|max|bool_and|bool_or|bit_\w+|stddev\w*|var_\w+|median|list|array_agg)\(", text):
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
