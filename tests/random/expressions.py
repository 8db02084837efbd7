"""Random expressions of a kind."""

from tables import TYPES, VALUES, literal
from tree import Many, Node

COMPARISONS = ["=", "=", "=", "<>", "<", "<=", ">", ">="]
#: Kinds that are compared with one another.
MIXED = ["IF", "FI", "IN", "NI", "NF", "FN", "DP", "PD", "DZ", "ZD", "PZ", "ZP"]
DECIMALS = ["0.1", "0.07", "1.5", "2.0", "10.25", "0.001", "3.14159"]
FLOATS = ["0.5e0", "1e0", "2.5e1", "-1.5e0", "1e-3"]
PATTERNS = ["%", "a%", "%b", "_", "%a%", "a_", "__", "", "longer%"]
INTERVALS = ["1 day", "2 days", "1 month", "3 hours", "90 minutes", "1 year", "1 month 2 days"]
PARTS = ["year", "month", "day", "quarter", "week", "dow", "doy", "isodow"]
CLOCK = ["hour", "minute"]


class Expressions:
    """Makes expressions; what holds queries is made by the subclass."""

    def __init__(self, rng):
        self.rng = rng

    def chance(self, probability):
        return self.rng.random() < probability

    def expression(self, kind, place, depth):
        """An expression of a kind, with at most `depth` levels."""
        rng = self.rng
        if depth <= 0 or self.chance(0.25):
            return self.leaf(kind, place)
        if place.subqueries and self.chance(0.08) and (subquery := self.scalar_subquery(kind, place, depth)):
            return subquery
        if place.keys is not None and self.chance(0.35):
            return self.aggregate(kind, place)
        general = [self.case, self.case, self.coalesce, self.nullif, self.greatest]
        maker = getattr(self, "of_" + kind)
        if kind != "B" and self.chance(0.25):
            maker = rng.choice(general)
            return maker(kind, place, depth - 1)
        if kind == "B" and self.chance(0.06):
            return self.case(kind, place, depth - 1)
        made = maker(place, depth - 1)
        made.simple = self.simple(kind)
        return made

    def simple(self, kind):
        return ("true", "false", "NULL") if kind == "B" else ("NULL", literal(kind, VALUES[kind][1]))

    def leaf(self, kind, place):
        """A column, a key of the groups or a constant."""
        rng = self.rng
        if place.scope and place.scope.around and self.chance(place.outer):
            if column := place.scope.outer(rng, kind):
                return column
        if self.chance(0.8):
            if place.keys is not None:
                keys = [key for key_kind, key in place.keys if key_kind == kind]
                if keys and self.chance(0.6):
                    return Node(kind, str(rng.choice(keys)))
                return self.aggregate(kind, place)
            if column := place.scope and place.scope.own(rng, kind):
                return column
        return self.constant(kind)

    def constant(self, kind):
        rng = self.rng
        if self.chance(0.07):
            text = "NULL" if self.chance(0.1) else f"CAST(NULL AS {rng.choice(TYPES[kind][:4])})"
        elif kind == "N":
            text = rng.choice(DECIMALS)
        elif kind == "F" and self.chance(0.8):
            text = rng.choice(FLOATS)
            text = f"({text})" if text.startswith("-") else text
        elif kind == "D":
            text = f"DATE '{rng.choice(VALUES['D'])}'"
        elif kind == "P":
            text = f"TIMESTAMP '{rng.choice(VALUES['P'])}'"
        else:
            text = literal(kind, rng.choice(VALUES[kind]))
        return Node(kind, text)

    def kind(self, place, some="BIFNTDPZ"):
        """A kind that has columns at this place, mostly."""
        there = place.scope.kinds() if place.scope else []
        if place.keys is not None:
            there = [kind for kind, _ in place.keys] + ["I"]
        there = [kind for kind in there if kind in some]
        return self.rng.choice(there) if there and self.chance(0.9) else self.rng.choice(some)

    # Any kind

    def case(self, kind, place, depth):
        rng = self.rng
        other = [" ELSE ", self.expression(kind, place, depth)] if self.chance(0.7) else []
        if self.chance(0.3):
            of = self.kind(place, "ITND")
            whens = [Node("", " WHEN ", self.expression(of, place, 0), " THEN ", self.expression(kind, place, depth))
                     for _ in range(rng.choice([1, 1, 2]))]
            parts = ["CASE ", self.expression(of, place, depth), Many(whens, ""), *other, " END"]
        else:
            whens = [Node("", " WHEN ", self.expression("B", place, depth), " THEN ", self.expression(kind, place, depth))
                     for _ in range(rng.choice([1, 1, 2]))]
            parts = ["CASE", Many(whens, ""), *other, " END"]
        return Node(kind, *parts, simple=self.simple(kind))

    def coalesce(self, kind, place, depth):
        return Node(kind, "coalesce(", self.expression(kind, place, depth), ", ", self.expression(kind, place, depth), ")")

    def nullif(self, kind, place, depth):
        return Node(kind, "nullif(", self.expression(kind, place, depth), ", ", self.expression(kind, place, depth), ")")

    def greatest(self, kind, place, depth):
        name = self.rng.choice(["greatest", "least"])
        return Node(kind, f"{name}(", self.expression(kind, place, depth), ", ", self.expression(kind, place, depth), ")")

    def binary(self, kind, operators, place, depth):
        left, right = self.expression(kind, place, depth), self.expression(kind, place, depth)
        return Node(kind, "(", left, f" {self.rng.choice(operators)} ", right, ")")

    def call(self, kind, name, argument, *more):
        return Node(kind, f"{name}(", argument, *(f", {text}" for text in more), ")")

    # Kind by kind

    def of_B(self, place, depth):
        rng, e = self.rng, self.expression
        if place.subqueries and self.chance(0.15) and (predicate := self.subquery_predicate(place, depth)):
            return predicate
        kind = self.kind(place)
        compare = lambda: Node("B", "(", e(kind, place, depth), f" {rng.choice(COMPARISONS)} ", e(kind, place, depth), ")")
        mixed, text = rng.choice(MIXED), rng.choice("DPZ")
        choices = [
            compare, compare, compare,
            lambda: Node("B", "(", e(mixed[0], place, depth), f" {rng.choice(COMPARISONS)} ", e(mixed[1], place, depth), ")"),
            lambda: Node("B", "(", e(text, place, depth), f" {rng.choice(COMPARISONS)} '{rng.choice(VALUES[rng.choice('DP')])}')"),
            lambda: Node("B", "(", e(kind, place, depth), f" IS {rng.choice(['', 'NOT '])}NULL)"),
            lambda: Node("B", "(", e(kind, place, depth), f" IS {rng.choice(['', 'NOT '])}DISTINCT FROM ", e(kind, place, depth), ")"),
            lambda: Node("B", "(", e(kind, place, depth), f"{rng.choice([' ', ' NOT '])}BETWEEN ", e(kind, place, 0), " AND ", e(kind, place, 0), ")"),
            lambda: Node("B", "(", e(kind, place, depth), f"{rng.choice([' ', ' NOT '])}IN (",
                         Many([self.leaf(kind, place) if self.chance(0.3) else self.constant(kind) for _ in range(rng.choice([1, 2, 3]))]), "))"),
            lambda: Node("B", "(", Many([e("B", place, depth) for _ in range(rng.choice([2, 2, 3]))], f" {rng.choice(['AND', 'OR'])} "), ")"),
            lambda: Node("B", "(", Many([e("B", place, depth) for _ in range(2)], f" {rng.choice(['AND', 'OR'])} "), ")"),
            lambda: Node("B", "(NOT ", e("B", place, depth), ")"),
            lambda: Node("B", "(", e("B", place, depth), f" IS {rng.choice(['', 'NOT '])}{rng.choice(['TRUE', 'FALSE', 'UNKNOWN'])})"),
            lambda: Node("B", "(", e("T", place, depth), f"{rng.choice([' ', ' NOT '])}LIKE '{rng.choice(PATTERNS)}')"),
            lambda: self.leaf("B", place),
        ]
        return rng.choice(choices)()

    def of_I(self, place, depth):
        rng, e = self.rng, self.expression
        choices = [
            lambda: self.binary("I", ["+", "-", "+", "-", "*"], place, depth),
            lambda: self.binary("I", ["+", "-"], place, depth),
            lambda: Node("I", "(", e("I", place, depth), f" {rng.choice('/%')} ", rng.choice(["2", "3", "7", "(-2)"]), ")"),
            lambda: Node("I", "(", e("I", place, depth), f" {rng.choice('/%')} nullif(", e("I", place, depth), ", 0))"),
            lambda: Node("I", "(-", e("I", place, depth), ")"),
            lambda: self.call("I", "abs", e("I", place, depth)),
            lambda: self.call("I", "length", self.text(place, depth)),
            lambda: self.call("I", "strpos", e("T", place, depth), f"'{rng.choice(['a', 'b', '', ' '])}'"),
            lambda: Node("I", f"extract({rng.choice(PARTS)} FROM ", e("D", place, depth), ")"),
            lambda: Node("I", f"extract({rng.choice(PARTS + CLOCK)} FROM ", e(rng.choice("PZ"), place, depth), ")"),
            lambda: Node("I", "CAST(", e("B", place, depth), " AS INTEGER)"),
            lambda: Node("I", "(", e("D", place, depth), " - ", e("D", place, depth), ")"),
            lambda: Node("I", "CAST(", e("I", place, depth), " AS BIGINT)"),
        ]
        return rng.choice(choices)()

    def text(self, place, depth):
        """A text as an argument whose type must be plain: a NULL alone has none."""
        return Node("T", "CAST(", self.expression("T", place, depth), " AS VARCHAR)")

    def of_F(self, place, depth):
        rng, e = self.rng, self.expression
        choices = [
            lambda: self.binary("F", ["+", "-", "*"], place, depth),
            lambda: Node("F", "(", e("F", place, depth), " / nullif(", e("F", place, depth), ", 0e0))"),
            lambda: Node("F", "(", e("N", place, depth), " / nullif(", e("N", place, depth), ", 0))"),
            lambda: Node("F", "(", e("I", place, depth), f" {rng.choice('+-*')} ", e("F", place, depth), ")"),
            lambda: Node("F", "(", e("N", place, depth), f" {rng.choice('+-*')} ", e("F", place, depth), ")"),
            lambda: Node("F", "(-", e("F", place, depth), ")"),
            lambda: self.call("F", rng.choice(["abs", "floor", "ceil"]), Node("F", "CAST(", e("F", place, depth), " AS DOUBLE)")),
            lambda: Node("F", "sqrt(abs(CAST(", e("F", place, depth), " AS DOUBLE)))"),
            lambda: Node("F", "CAST(", e(rng.choice("INF"), place, depth), f" AS {rng.choice(['DOUBLE', 'DOUBLE', 'FLOAT'])})"),
        ]
        return rng.choice(choices)()

    def of_N(self, place, depth):
        rng, e = self.rng, self.expression
        choices = [
            lambda: self.binary("N", ["+", "-", "*"], place, depth),
            lambda: self.binary("N", ["+", "-"], place, depth),
            lambda: Node("N", "(", e("I", place, depth), f" {rng.choice('+-*')} ", e("N", place, 0), ")"),
            lambda: Node("N", "(-", e("N", place, depth), ")"),
            lambda: self.call("N", "abs", e("N", place, depth)),
            lambda: Node("N", "CAST(", e(rng.choice("IN"), place, depth), f" AS DECIMAL({rng.choice(['20, 2', '18, 4', '12, 1', '38, 6'])}))"),
            lambda: self.call("N", "round", e("N", place, depth), rng.choice(["0", "1", "2"])),
        ]
        return rng.choice(choices)()

    def of_T(self, place, depth):
        rng, e = self.rng, self.expression
        choices = [
            lambda: self.binary("T", ["||"], place, depth),
            lambda: self.call("T", rng.choice(["upper", "lower", "trim", "ltrim", "rtrim", "reverse"]), self.text(place, depth)),
            lambda: self.call("T", "substr", self.text(place, depth), rng.choice("123"), rng.choice("0129")),
            lambda: self.call("T", rng.choice(["left", "right"]), self.text(place, depth), rng.choice("0123")),
            lambda: self.call("T", "replace", self.text(place, depth), "'a'", rng.choice(["''", "'bb'"])),
            lambda: Node("T", "concat(", e("T", place, depth), ", ", e("T", place, depth), ")"),
            lambda: Node("T", "concat_ws('-', ", e("T", place, depth), ", ", e("T", place, depth), ")"),
            lambda: Node("T", "CAST(", e(rng.choice("IBD"), place, depth), " AS VARCHAR)"),
            lambda: self.call("T", "lpad", self.text(place, depth), rng.choice("025"), "'.'"),
        ]
        return rng.choice(choices)()

    def of_D(self, place, depth):
        rng, e = self.rng, self.expression
        choices = [
            lambda: Node("D", "(", e("D", place, depth), f" {rng.choice('+-')} {rng.choice(['1', '7', '30'])})"),
            lambda: Node("D", "CAST(", e(rng.choice("DPPZ"), place, depth), " AS DATE)"),
            lambda: Node("D", "CAST(", e("D", place, depth), f" {rng.choice('+-')} INTERVAL '{rng.choice(['1 month', '2 days', '1 year'])}' AS DATE)"),
            lambda: Node("D", f"CAST(date_trunc('{rng.choice(['month', 'year', 'week', 'quarter'])}', ", e("D", place, depth), ") AS DATE)"),
        ]
        return rng.choice(choices)()

    def of_P(self, place, depth):
        rng, e = self.rng, self.expression
        choices = [
            lambda: Node("P", "(", e("P", place, depth), f" {rng.choice('+-')} INTERVAL '{rng.choice(INTERVALS)}')"),
            lambda: Node("P", "CAST(", e(rng.choice("DPZ"), place, depth), " AS TIMESTAMP)"),
            lambda: Node("P", f"date_trunc('{rng.choice(['hour', 'day', 'month', 'minute'])}', ", e("P", place, depth), ")"),
        ]
        return rng.choice(choices)()

    def of_Z(self, place, depth):
        rng, e = self.rng, self.expression
        choices = [
            lambda: Node("Z", "(", e("Z", place, depth), f" {rng.choice('+-')} INTERVAL '{rng.choice(INTERVALS)}')"),
            lambda: Node("Z", "CAST(", e(rng.choice("DPZ"), place, depth), " AS TIMESTAMP WITH TIME ZONE)"),
            lambda: Node("Z", f"date_trunc('{rng.choice(['hour', 'day', 'month'])}', ", e("Z", place, depth), ")"),
        ]
        return rng.choice(choices)()
