"""Random aggregates, and random queries inside expressions."""

import re

import nested
from expressions import COMPARISONS, Expressions
from scope import Place, Scope
from tables import NESTED
from templates import AGGREGATES, ANY
from tree import Many, Maybe, Node

#: What a list has in it, by its kind.
ITEM = {"L": "I", "K": "T"}

COLUMN = re.compile(r"[a-z]\w*(\.\w+)?")


class Subqueries(Expressions):
    """Makes expressions that hold queries; the queries are made by the subclass."""

    def __init__(self, rng, family, budget):
        super().__init__(rng, family)
        #: How many tables the statement may still read.
        self.budget = budget

    def aggregate(self, kind, place):
        """An aggregate of a kind over the rows of a grouped place."""
        rng, rows = self.rng, place.rows()
        if kind == "I" and place.has_sets and self.chance(0.2):
            return Node("I", f"grouping({rng.choice(place.keys)[1]})")
        if kind == "T" and self.chance(0.4):
            return self.joined(self.leaf("T", rows))
        if kind in ITEM and self.chance(0.6):
            return self.listed(kind, self.leaf(ITEM[kind], rows), rows)
        depth = rng.choice([0, 0, 0, 1])
        templates = AGGREGATES.get(kind) or nested.AGGREGATES.get(kind)
        if templates and self.chance(0.7):
            return self.filled(kind, rng.choice(templates), rows, depth)
        return self.filled(kind, ANY, rows, depth, kind)

    def joined(self, text):
        # The text stands twice, and both have to stay the same. A constant has no order.
        if "'" in str(text):
            return Node("T", f"min({text})")
        return Node("T", f"string_agg({text}, ',' ORDER BY {text})")

    def listed(self, kind, item, rows):
        """A list of the items of a group. Their order is defined where equal ones are neighbours."""
        if not COLUMN.fullmatch(str(item)):
            return Node(kind, f"list_value(min({item})", self.filter(rows), ")")
        order = f" ORDER BY {item}{self.rng.choice(['', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST'])}"
        form = self.rng.choice(["list({}{})", "array_agg({}{})", "list(DISTINCT {}{})", "list_transform(list({}{}), lambda it: it)", "list_reverse(list({}{}))"])
        return Node(kind, form.format(item, order), self.filter(rows) if form.startswith(("list(", "array")) else "")

    def scalar_subquery(self, kind, place, depth):
        """A query of at most one row, or None if there are enough tables."""
        rng = self.rng
        if self.budget <= 0:
            return None
        around = self.reach(place)
        form = rng.choices(["aggregate", "first", "bare"], [8, 3, 1])[0]
        if form == "bare" and around:
            inner = Place(Scope([], around), None, False, 0.8)
            return Node(kind, "(SELECT ", self.expression(kind, inner, 1), ")")
        clause, columns = self.from_clause(around, 1)
        scope = Scope(columns, around)
        where = self.where(scope, depth)
        if form == "first" and not (around and kind in NESTED):
            value = self.expression(kind, Place(scope, None, False, 0), 1)
            order = f" ORDER BY 1 {rng.choice(['', 'DESC', 'NULLS FIRST'])}"
            return Node(kind, "(SELECT ", value, " FROM ", clause, where, order, " LIMIT 1)")
        value = self.aggregate(kind, Place(scope, []))
        if self.chance(0.2):
            value = self.expression(kind, Place(scope, [], False, 0), 2)
            if not has_aggregate(value):
                value = self.aggregate(kind, Place(scope, []))
        having = Maybe(" HAVING ", self.expression("B", Place(scope, [], False), 1)) if self.chance(0.08) else ""
        return Node(kind, "(SELECT ", value, " FROM ", clause, where, having, ")")

    def reach(self, place):
        """The scope that a subquery at this place may name: none for those that shall not depend on it."""
        return place.around() if place.scope and self.chance(0.6) else None

    def where(self, scope, depth):
        """A WHERE clause, most often with a condition on the query around, if there is one."""
        rng, conditions = self.rng, []
        place = Place(scope)
        if scope.around and self.chance(0.85):
            kind = self.kind(place)
            inner, outer = scope.own(rng, kind), scope.outer(rng, kind)
            if inner and outer:
                operator = "=" if self.chance(0.7) else rng.choice(COMPARISONS + ["IS NOT DISTINCT FROM"])
                conditions.append(Node("B", "(", inner, f" {operator} ", outer, ")"))
        if not conditions or self.chance(0.3):
            if self.chance(0.6):
                conditions.append(self.expression("B", place, min(depth, 2)))
        rng.shuffle(conditions)
        return Maybe(" WHERE ", Many(conditions, " AND ")) if conditions else ""

    def subquery_predicate(self, place, depth):
        """A predicate that holds a query, or None if there are enough tables."""
        rng = self.rng
        if self.budget <= 0:
            return None
        around = self.reach(place)
        form = rng.choices(["exists", "in", "any"], [4, 5, 2])[0]
        not_ = rng.choice(["", "", "NOT "])
        if form == "exists":
            query, _ = self.query(around, None, depth - 1)
            return Node("B", f"({not_}EXISTS (", query, "))")
        kind = self.kind(place)
        query, _ = self.query(around, [kind], depth - 1)
        value = self.expression(kind, place, min(depth, 1))
        if form == "in":
            return Node("B", "(", value, f" {not_}IN (", query, "))")
        operator = rng.choice(COMPARISONS)
        return Node("B", "(", value, f" {operator} {rng.choice(['ANY', 'ALL'])} (", query, "))")


def has_aggregate(node):
    text = str(node)
    return any(f"{name}(" in text for name in ("count", "sum", "avg", "min", "max", "bool_and", "bool_or", "string_agg", "list", "array_agg", "histogram"))
