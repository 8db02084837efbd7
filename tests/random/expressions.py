"""Random expressions of a kind."""

import re

from nested import FAMILIES, KINDS_OF
from tables import KINDS, NESTED, TYPES, VALUES, literal
from templates import CASES, GENERAL, INEXACT, ORDERED, TEMPLATES
from tree import Maybe, Node

COMPARISONS = ["=", "=", "=", "<>", "<", "<=", ">", ">="]
DECIMALS = ["0.1", "0.07", "1.5", "2.0", "10.25", "0.001", "3.14159"]
FLOATS = ["0.5e0", "1e0", "2.5e1", "-1.5e0", "1e-3"]
INTERVALS = ["1 day", "24 hours", "1 month", "30 days", "90 minutes", "0 days"]

#: Kinds whose `greatest` and `least` differ from DuckDB's (docs/sql.md).
UNORDERED = "V"

#: `[a|b]` and `{k}` in a template, and `<*>` for brackets.
CHOICE, HOLE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]"), re.compile(r"\{(\w)(0?)\}")
BRACKETS = re.compile(r"<(\*|0|#-1)>")


class Expressions:
    """Makes expressions; what holds queries is made by the subclass."""

    def __init__(self, rng, family):
        self.rng = rng
        #: What the statements shall have more of than usual, or None.
        self.family = family
        #: Whether a float of the statement may differ between systems in its last digits.
        self.is_inexact = False

    def chance(self, probability):
        return self.rng.random() < probability

    def share(self, family, usual):
        """Whether something of a family is to be made, which is made `usual` often."""
        return self.chance(max(usual, 0.3) if self.family == family else usual)

    def templates(self, kind, place):
        """The templates for a kind: now and then those over lists and the like, more often where there are columns of such."""
        there = place.scope.kinds() if place.scope else []
        for family, templates in FAMILIES.items():
            has_columns = any(of in there for of in KINDS_OF[family])
            usual = 1 if kind in KINDS_OF[family] and kind not in TEMPLATES else 0.15 if has_columns else 0.01
            if kind in templates and self.share(family, usual):
                return templates[kind]
        return TEMPLATES.get(kind, [])

    def expression(self, kind, place, depth):
        """An expression of a kind, with at most `depth` levels."""
        rng = self.rng
        if depth <= 0 or self.chance(0.25):
            return self.leaf(kind, place)
        if place.subqueries and self.chance(0.08) and (subquery := self.scalar_subquery(kind, place, depth)):
            return subquery
        if place.subqueries and kind == "B" and self.chance(0.15) and (predicate := self.subquery_predicate(place, depth)):
            return predicate
        if place.keys is not None and self.chance(0.35):
            return self.aggregate(kind, place)
        if place.windows and self.share("windows", 0.04) and (window := self.window(kind, place)):
            return window
        templates = self.templates(kind, place)
        if not templates or self.chance(0.06 if kind == "B" else 0.25):
            templates = CASES if self.chance(0.4) else GENERAL if kind in UNORDERED else GENERAL + ORDERED
            return self.filled(kind, rng.choice(templates), place, depth - 1, kind)
        return self.filled(kind, rng.choice(templates), place, depth - 1)

    def chosen(self, template):
        """A template with its choices made."""
        return BRACKETS.sub(r"[\1]", CHOICE.sub(lambda choice: self.rng.choice(choice[1].split("|")), template))

    def filled(self, kind, template, place, depth, same=None):
        """A template with expressions in its holes; `same` is the kind of those that are of one kind."""
        same = same or self.kind(place)
        text = self.chosen(template)
        self.is_inexact |= bool(INEXACT.match(text))
        parts, start, once = [], 0, None
        for hole in HOLE.finditer(text):
            parts.append(text[start : hole.start()])
            of = same if hole[1] == "k" else hole[1]
            if of == "f":
                parts.append(self.filter(place))
            elif of == "l":
                parts.append(self.constant(same))
            elif of == "c":
                once = once or str(self.leaf(same, place))
                parts.append(once)
            else:
                parts.append(self.leaf(of, place) if hole[2] else self.expression(of, place, depth))
            start = hole.end()
        return Node(kind, *parts, text[start:], simple=self.simple(kind))

    def filter(self, place):
        return Maybe(" FILTER (WHERE ", self.expression("B", place, 1), ")") if self.chance(0.15) else ""

    def simple(self, kind):
        if kind == "B":
            return ("true", "false", "NULL")
        return ("NULL", "INTERVAL '1 day'") if kind == "V" else ("NULL", literal(kind, VALUES[kind][1]))

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
            if kind == "J" and (column := place.scope and place.scope.own(rng, "Q")):
                return Node("J", "CAST(", column, " AS JSON)")
        return self.constant(kind)

    def constant(self, kind):
        rng = self.rng
        if kind in NESTED:
            text = self.nested(kind)
        elif kind == "X":
            text = f"CAST('{rng.choice(['a', 'ab', ''])}' AS BLOB)"
        elif kind == "V":
            text = f"INTERVAL '{rng.choice(INTERVALS)}'"
        elif self.chance(0.07):
            text = "NULL" if self.chance(0.1) and kind in "BINFT" else f"CAST(NULL AS {rng.choice(TYPES[kind][:4])})"
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

    def nested(self, kind):
        """A constant list, struct or map, with its type or, if that is clear, without."""
        if self.chance(0.07):
            return literal(kind, None)
        value = self.rng.choice(VALUES[kind])
        clear = kind != "M" and "[]" not in value and value != "[NULL]" and ": NULL}" not in value
        return value if clear and self.chance(0.5) else literal(kind, value)

    def kind(self, place):
        """A kind that has columns at this place, mostly."""
        there = place.scope.kinds() if place.scope else []
        if place.keys is not None:
            there = [kind for kind, _ in place.keys] + ["I"]
        return self.rng.choice(there) if there and self.chance(0.9) else self.rng.choice(KINDS + KINDS_OF.get(self.family, "") * 2)
