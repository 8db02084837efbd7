"""What a place in a statement can name."""

from tree import Node


class Column:
    """A column of a FROM clause."""

    def __init__(self, alias, name, kind, bare=False, partial=False):
        self.alias, self.name, self.kind = alias, name, kind
        #: Whether it has no table: a column of USING.
        self.bare = bare
        #: Whether its table has more columns than those that are known.
        self.partial = partial


class Scope:
    """The columns of a FROM clause, and the scope around its query, if it may name that."""

    def __init__(self, columns, around=None, beside=()):
        self.columns, self.around = columns, around
        #: Columns that are there too and shall not be named.
        self.beside = beside

    def aliases(self):
        return {column.alias for column in self.columns}

    def spell(self, rng, column):
        """The column as it is written here."""
        alone = column.bare or sum(c.name == column.name for c in [*self.columns, *self.beside]) == 1
        if column.bare or (alone and rng.random() < 0.4):
            return Node(column.kind, column.name)
        return Node(column.kind, f"{column.alias}.{column.name}")

    def own(self, rng, kind):
        """A column of a kind, or None."""
        found = [column for column in self.columns if column.kind == kind]
        return self.spell(rng, rng.choice(found)) if found else None

    def outer(self, rng, kind):
        """A column of a kind of a query around, or None."""
        hidden, around, found = self.aliases(), self.around, []
        while around:
            found += [c for c in around.columns if c.kind == kind and not c.bare and c.alias not in hidden]
            hidden |= around.aliases()
            around = around.around
        if not found:
            return None
        column = rng.choice(found)
        return Node(kind, f"{column.alias}.{column.name}")

    def kinds(self):
        return sorted({column.kind for column in self.columns})


class Place:
    """Where an expression stands: what it can name, and what it may hold."""

    def __init__(self, scope, keys=None, subqueries=True, outer=0.15, has_sets=False, windows=False):
        self.scope = scope
        #: In a grouped query: the keys, as pairs of a kind and a piece. Aggregates may stand there then.
        self.keys = keys
        #: Whether they are in several sets, so that grouping() tells something.
        self.has_sets = has_sets
        self.subqueries = subqueries
        #: How often a column of the query around is named, if there is one.
        self.outer = outer
        #: Whether functions over windows may stand there.
        self.windows = windows

    def rows(self):
        """The same place inside an aggregate."""
        return Place(self.scope, None, False, 0)

    def around(self):
        """The scope that a subquery here can name."""
        if self.keys is None:
            return self.scope
        keys = {str(key) for _, key in self.keys}
        named = [c for c in self.scope.columns if not c.bare and f"{c.alias}.{c.name}" in keys]
        return Scope(named, self.scope.around)
