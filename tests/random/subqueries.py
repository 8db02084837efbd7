"""Random aggregates, and random queries inside expressions."""

from expressions import COMPARISONS, Expressions
from scope import Place, Scope
from tables import NESTED
from templates import AGGREGATES, ANY
from tree import Many, Maybe, Node


class Subqueries(Expressions):
    """Makes expressions that hold queries; the queries are made by the subclass."""

    def __init__(self, rng, budget):
        super().__init__(rng)
        #: How many tables the statement may still read.
        self.budget = budget

    def aggregate(self, kind, place):
        """An aggregate of a kind over the rows of a grouped place."""
        rng, rows = self.rng, place.rows()
        if kind == "I" and place.has_sets and self.chance(0.2):
            return Node("I", f"grouping({rng.choice(place.keys)[1]})")
        if kind == "T" and self.chance(0.4):
            return self.joined(self.leaf("T", rows))
        depth = rng.choice([0, 0, 0, 1])
        if kind in AGGREGATES and self.chance(0.7):
            return self.filled(kind, rng.choice(AGGREGATES[kind]), rows, depth)
        if kind in NESTED:
            return self.constant(kind)
        return self.filled(kind, ANY, rows, depth, kind)

    def joined(self, text):
        # The text stands twice, and both have to stay the same. A constant has no order.
        if "'" in str(text):
            return Node("T", f"min({text})")
        return Node("T", f"string_agg({text}, ',' ORDER BY {text})")

    def scalar_subquery(self, kind, place, depth):
        """A query of at most one row, or None if there are enough tables."""
        rng = self.rng
        if self.budget <= 0:
            return None
        if kind in NESTED:
            return None
        around = self.reach(place)
        form = rng.choices(["aggregate", "first", "bare"], [8, 3, 1])[0]
        if form == "bare" and around:
            inner = Place(Scope([], around), None, False, 0.8)
            return Node(kind, "(SELECT ", self.expression(kind, inner, 1), ")")
        clause, columns = self.from_clause(around, 1)
        scope = Scope(columns, around)
        where = self.where(scope, depth)
        if form == "first":
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
                operator = "=" if self.chance(0.7) or kind in NESTED else rng.choice(COMPARISONS + ["IS NOT DISTINCT FROM"])
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
        operator = "=" if kind in NESTED else rng.choice(COMPARISONS)
        return Node("B", "(", value, f" {operator} {rng.choice(['ANY', 'ALL'])} (", query, "))")


def has_aggregate(node):
    text = str(node)
    return any(f"{name}(" in text for name in ("count", "sum", "avg", "min", "max", "bool_and", "bool_or", "string_agg"))
