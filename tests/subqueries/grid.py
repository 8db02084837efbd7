"""The cells of the grid: place × kind × what is inside × nesting.

A cell is named `place/kind/inside/nesting`, and its statement is made of its name alone.
"""

import zlib
from fnmatch import fnmatchcase
from itertools import product
from typing import NamedTuple

from insides import INSIDES
from kinds import KINDS, NESTINGS, PALAIS, subquery
from places import LATERAL, PLACES

PLACE, KIND, INSIDE = ({item.name: item for item in items} for items in (PLACES, KINDS, INSIDES))
LATERALS = {place.name for place in LATERAL}


class Cell(NamedTuple):
    """A statement's place in the grid."""

    place: str
    kind: str
    inside: str
    nesting: str

    def __str__(self):
        return "/".join(self)

    def fits(self, pattern):
        """Whether a pattern such as `where/*in`, of which parts at the end may be missing, means this cell."""
        return all(fnmatchcase(part, wanted or "*") for part, wanted in zip(self, pattern.split("/")))

    def is_there(self):
        """Whether there is such a statement."""
        if (self.place in LATERALS) != (self.kind == "table"):
            return False
        return INSIDE[self.inside].is_open or self.nesting == "one"

    def statement(self, spelling=PALAIS):
        """Its text."""
        place = PLACE[self.place]
        turn = lambda items: drawn(str(self), items)
        parts = subquery(KIND[self.kind], INSIDE[self.inside], self.nesting, place.outer, spelling, turn)
        sql = place.sql if spelling is PALAIS else place.duckdb or place.sql
        return sql.format(**parts._asdict())

    def is_ordered(self):
        return PLACE[self.place].is_ordered


def drawn(seed, items):
    """One of the items, always the same one of a seed, and mostly also if there are more of them."""
    return min(items, key=lambda item: zlib.crc32(f"{seed} {item}".encode()))


def whole():
    """Every cell."""
    return [cell for cell in map(Cell._make, product(PLACE, KIND, INSIDE, NESTINGS)) if cell.is_there()]


#: What the usual grid has all combinations of.
COVERED = [
    ({"place": PLACE, "inside": INSIDE}),
    ({"kind": KIND, "inside": INSIDE}),
    ({"place": PLACE, "kind": KIND, "nesting": NESTINGS}),
    ({"kind": ["scalar", "exists", "not_in", "table"], "inside": INSIDE, "nesting": NESTINGS}),
]


def usual():
    """The cells of the usual grid. What a combination leaves open is drawn."""
    cells, covered = [], set()
    for parts in COVERED:
        for values in product(*parts.values()):
            if tuple(zip(parts, values)) in covered:
                continue
            if cell := completed(dict(zip(parts, values))):
                cells.append(cell)
                covered.update(tuple((part, getattr(cell, part)) for part in others) for others in COVERED)
    return cells


def completed(fixed):
    """A cell with the parts that are given, or None."""
    parts = {"place": list(PLACE), "kind": list(KIND), "inside": list(INSIDE), "nesting": NESTINGS}
    at = {part: zlib.crc32(f"{part} of {fixed}".encode()) % len(items) for part, items in parts.items()}
    choices = ([fixed[part]] if part in fixed else items[at[part] :] + items[: at[part]] for part, items in parts.items())
    return next((cell for cell in map(Cell._make, product(*choices)) if cell.is_there()), None)
