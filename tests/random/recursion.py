"""Random names of WITH RECURSIVE that end after some rounds."""

from scope import Column, Place, Scope
from tables import TYPES
from tree import Many, Maybe, Node
from windows import Windows

#: What the first part is cast to, so that the types of both parts are the same.
CAST = {kind: TYPES[kind][0] for kind in "BITDPLKF"}


class Recursion(Windows):
    """Makes recursive names: a column `n` counts the rounds, and bounds them."""

    def recursive(self):
        """A recursive name, which can be used from here on."""
        rng = self.rng
        name, kinds = self.fresh("w"), [rng.choice("BITDIILK") for _ in range(rng.choice([1, 1, 2]))]
        columns = [("n", "I")] + [(f"z{i}", kind) for i, kind in enumerate(kinds)]
        before = self.budget
        clause, found = self.item(None, 0, [])
        first = self.part("CAST(0 AS BIGINT)", kinds, Place(Scope(found), subqueries=False), clause, self.where(Scope(found), 0))
        form = rng.choice(["alone", "alone", "joined", "joined", "left", "grouped", "windowed", "twice"])
        own = [Column("r", column, kind) for column, kind in columns]
        there, clause, by = own, f"{name} AS r", ""
        if form in ("joined", "left"):
            right, more = self.item(None, 0, own)
            there = own + more
            pairs = [(l, r) for l in own[1:] for r in more if l.kind == r.kind]
            on = f"{pairs[0][0].alias}.{pairs[0][0].name} = {pairs[0][1].alias}.{pairs[0][1].name}" if pairs else "r.n = 0"
            clause = Node("from", clause, " LEFT JOIN " if form == "left" else " JOIN ", right, f" ON ({on})")
        if form == "twice":
            there = own + [Column("s", column, kind) for column, kind in columns]
            clause = f"{name} AS r JOIN {name} AS s ON r.n = s.n AND r.z0 = s.z0"
        place = Place(Scope(there), subqueries=False)
        more = Maybe(" AND ", self.expression("B", place, 1)) if self.chance(0.3) else ""
        # With what is joined it grows by rounds: then there are few, or what was there before ends them.
        joins = form in ("joined", "left", "twice")
        operator = "UNION" if form == "twice" or self.chance(0.4) else "UNION ALL"
        rounds = rng.choice([1, 2, 4]) if not joins else 2 if operator == "UNION" else 1
        where = Node("", f" WHERE r.n < {rounds}", more)
        if form == "grouped":
            place, by = Place(Scope(there), [("I", "r.n")], False), " GROUP BY r.n"
        second = self.part("r.n + 1", kinds, place, clause, where, by, form == "windowed")
        self.budget = max(self.budget, before - 1)
        self.tables += [(name, columns)] * 4
        listed = ", ".join(column for column, _ in columns)
        return Node("", f"{name}({listed}) AS (", first, f" {operator} ", second, ")")

    def part(self, round_, kinds, place, clause, where, by="", windowed=False):
        """One of both parts."""
        items = []
        for kind in kinds:
            value = self.window(kind, place) if windowed and kind in "IL" else None
            items.append(Node("", "CAST(", value or self.expression(kind, place, self.rng.choice([0, 1, 1])), f" AS {CAST[kind]})"))
        return Node("", f"SELECT {round_}, ", Many(items, least=len(items)), " FROM ", clause, where, by)
