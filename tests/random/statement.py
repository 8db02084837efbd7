"""A random statement as a whole: with its parts that variants need."""

import random

from queries import Queries
from scope import Place, Scope
from tables import NESTED
from tree import Many, Node


class Split:
    """`SELECT items FROM clause WHERE predicate`, whose predicate can be taken apart."""

    def __init__(self, names, items, clause, predicate):
        self.names, self.items, self.clause, self.predicate = names, items, clause, predicate

    def tree(self):
        return self.of(" WHERE ", self.predicate)

    def of(self, *condition):
        return Node("", *self.names, "SELECT ", self.items, " FROM ", self.clause, *condition)

    def thirds(self):
        """Three statements that give together the rows of a fourth."""
        p = self.predicate
        return [self.of(" WHERE ", p), self.of(" WHERE (NOT ", p, ")"), self.of(" WHERE (", p, " IS NULL)"), self.of("")]

    def counts(self):
        """Two statements that count the same rows."""
        count = Node("", *self.names, "SELECT count(*) AS n FROM ", self.clause, " WHERE ", self.predicate)
        whens = ["coalesce(sum(CASE WHEN ", self.predicate, " THEN 1 ELSE 0 END), 0)"]
        return [count, Node("", *self.names, "SELECT ", *whens, " AS n FROM ", self.clause)]


class Statement:
    """A statement and what is known of it."""

    def __init__(self, tree, ordered=False, split=None):
        self.tree, self.ordered, self.split = tree, ordered, split

    def __str__(self):
        return str(self.tree)


def random_statement(seed, tables, family=None):
    """The statement of a seed over these tables, which has more of a family than others, if one is given."""
    rng = random.Random(seed)
    maker = Queries(rng, family, tables)
    names = []
    if maker.chance(0.8 if family == "recursion" else 0.15):
        names = [maker.with_clause(1)]
        maker.budget += 2
    if maker.chance(0.12):
        split = random_split(maker, names)
        return Statement(split.tree(), split=split)
    node, columns = maker.select(None, None, rng.choice([1, 2, 2, 3]))
    if maker.budget > 0 and maker.chance(0.15):
        node, columns = maker.set_operation(node, columns, None, 1)
    elif maker.chance(0.03) and maker.can_order(columns) and not any(kind in NESTED for _, kind in columns):
        return Statement(Node("", *names, maker.first_of_each(node, columns)), ordered=True)
    elif maker.share("windows", 0.08) and maker.can_order(columns):
        node, columns = maker.windowed(node, columns)
    elif maker.share("pivots", 0.02):
        node, columns = maker.pivoted(node, columns) if maker.chance(0.5) else maker.unpivoted(node, columns)
    elif maker.share("lists", 0.03):
        node, columns = maker.unnested(node, columns)
    if maker.chance(0.15) and maker.can_order(columns):
        return Statement(Node("", *names, maker.limited(node, columns)), ordered=True)
    return Statement(Node("", *names, Node("query" + "".join(k for _, k in columns), node)))


def random_split(maker, names):
    rng = maker.rng
    clause, columns = maker.from_clause(None, 1)
    place = Place(Scope(columns))
    items = [Node("", maker.expression(maker.kind(place), place, rng.choice([0, 0, 1])), f" AS c{i}") for i in range(rng.choice([1, 2]))]
    return Split(names, Many(items), clause, maker.expression("B", place, rng.choice([1, 2, 3])))
