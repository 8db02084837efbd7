"""Statements as trees of text, so that they can be made smaller without knowing SQL."""


class Node:
    """A piece of a statement: texts and pieces one after another.

    `sort` says what may stand in its place: two pieces of one sort are exchanged freely when a statement is made smaller.
    `simple` are texts that may stand there too.
    """

    def __init__(self, sort, *parts, simple=()):
        self.sort, self.parts, self.simple = sort, list(parts), simple

    def __str__(self):
        return "".join(map(str, self.parts))

    def inner(self):
        """All pieces below this one."""
        for part in self.parts:
            if isinstance(part, Node):
                yield part
                yield from part.inner()

    def alternatives(self):
        """What may stand in place of this piece, the smallest first."""
        yield from (Node(self.sort, text) for text in self.simple)
        same = [piece for piece in self.inner() if piece.sort == self.sort and self.sort]
        yield from sorted(same, key=lambda piece: len(str(piece)))


class Maybe(Node):
    """A piece that may be left out."""

    def __init__(self, *parts):
        super().__init__("", *parts)

    def alternatives(self):
        if self.parts:
            yield Node("")


class Many(Node):
    """Pieces with a separator between them, of which at least `least` stay."""

    def __init__(self, items, separator=", ", least=1):
        super().__init__("", *items)
        self.separator, self.least = separator, least

    def __str__(self):
        return self.separator.join(map(str, self.parts))

    def alternatives(self):
        if len(self.parts) > self.least:
            for i in range(len(self.parts)):
                yield Many(self.parts[:i] + self.parts[i + 1 :], self.separator, self.least)


def places(node):
    """Each place of a piece below `node`, as the piece around it and the index there; outer ones first."""
    for i, part in enumerate(node.parts):
        if isinstance(part, Node):
            yield node, i
            yield from places(part)
