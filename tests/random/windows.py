"""Random functions over windows."""

import re

from relations import Relations
from scope import Place
from tree import Many, Maybe, Node

#: Functions over windows that tell equal rows apart.
TELLS_APART = re.compile(r"^(row_number|ntile|lag|lead)\(| ROWS ")

NULLS = ["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]

#: Types of the keys of RANGE, and distances before and behind a row.
DISTANCES = {
    "I": ("BIGINT", "[1|0|10]", "[1|2]"),
    "N": ("DECIMAL(18, 2)", "[0.5|1|3.25]", "[1|0.1]"),
    "F": ("DOUBLE", "[0.5e0|2]", "[1.5e0|0]"),
    "D": ("DATE", "INTERVAL '[1 day|1 month|0 days]'", "INTERVAL '[31 days|1 year]'"),
    "P": ("TIMESTAMP", "INTERVAL '[12 hours|1 month]'", "INTERVAL '[90 minutes|1 day|0 days]'"),
}

#: Functions whose value doesn't depend on the order of peers, by kind.
FUNCTIONS = {
    "I": ["rank()", "dense_rank()", "count(*){f}", "count({k}){f}", "count(DISTINCT {k}){f}", "sum({I}){f}", "sum({I}){f}", "[min|max]({I}){f}",
          "bit_or({I}){f}", "coalesce(count_if({B}){f}{w}, 0)"],
    "F": ["percent_rank()", "cume_dist()", "avg({I}){f}", "[min|max]({F}){f}", "median({I}){f}", "stddev_pop({I}){f}"],
    "N": ["[min|max]({N}){f}", "CAST(sum({N}){f}{w} AS DECIMAL(30, 6))"],
    "B": ["[bool_and|bool_or]({B}){f}"],
    "L": ["list_sort(list({I}){f}{w})", "[min|max]({L}){f}"],
    "K": ["list_sort(list({T}){f}{w})", "map_keys(histogram({T}){f}{w})"],
}


class Windows(Relations):
    """Makes functions over windows, in any select list and behind the columns of a query."""

    def window(self, kind, place):
        """A function over a window of the rows or groups of a place, whose value doesn't depend on the order of peers; or
        None if there is none of the kind."""
        rng = self.rng
        templates = FUNCTIONS.get(kind, ["[min|max]({k}){f}"] if kind != "V" else [])
        if not templates or (kind in "LK" and self.chance(0.5)):
            return None
        inner = Place(place.scope, place.keys, False, 0, place.has_sets)
        template = rng.choice(templates)
        same = kind if kind not in FUNCTIONS else self.kind(inner)
        if kind == "F" and template.startswith(("avg", "stddev", "median")):
            self.is_inexact = True
        window = self.over_peers(inner, "rank" in template or "cume" in template)
        # Where the window isn't behind the function, a hole says it.
        before, at, after = template.partition("{w}")
        parts = self.filled(kind, before, inner, rng.choice([0, 0, 1]), same).parts
        return Node(kind, *parts, " OVER (", window, ")", after)

    def over_peers(self, place, is_rank):
        """A window in which peers see the same rows."""
        rng = self.rng
        parts = []
        # An aggregate of floats is no key: its last digits may differ.
        kind = lambda: self.kind(place) if place.keys is None else rng.choice([kind for kind, _ in place.keys] + ["I"])
        key_of = lambda: self.expression(kind(), place, rng.choice([0, 0, 1]) if place.keys is None else 0)
        if self.chance(0.5):
            keys = [key_of() for _ in range(rng.choice([1, 1, 2]))]
            parts.append(Node("", "PARTITION BY ", Many(keys)))
        distance, of = None, rng.choice(list(DISTANCES))
        if not is_rank and place.keys is None and self.chance(0.3) and (key := place.scope.own(rng, of)):
            sql_type, before, behind = DISTANCES[of]
            order, distance = Node("", "ORDER BY CAST(", key, f" AS {sql_type}){rng.choice(NULLS)}"), "RANGE"
            bounds = [f"{before} PRECEDING", "CURRENT ROW", f"{behind} FOLLOWING"]
        elif is_rank or self.chance(0.6):
            keys = [Node("", key_of(), rng.choice(NULLS)) for _ in range(rng.choice([1, 1, 2]))]
            order, distance = Node("", "ORDER BY ", Many(keys)), rng.choice(["GROUPS", "GROUPS", None, None, "peers"])
            bounds = ["1 PRECEDING", "CURRENT ROW", "2 FOLLOWING"]
        else:
            return Many(parts, " ", least=0)
        parts.append(order)
        if is_rank or not distance:
            return Many(parts, " ", least=0)
        if distance == "peers":
            frame = "RANGE BETWEEN " + rng.choice(["UNBOUNDED PRECEDING AND CURRENT ROW", "CURRENT ROW AND CURRENT ROW", "CURRENT ROW AND UNBOUNDED FOLLOWING"])
        else:
            bounds = [self.chosen(bound) for bound in ["UNBOUNDED PRECEDING", *bounds, "UNBOUNDED FOLLOWING"]]
            start = rng.choice(range(4))
            frame = f"{distance} BETWEEN {bounds[start]} AND {bounds[rng.choice(range(max(start, 1), 5))]}"
        parts.append(Maybe(frame + rng.choice(["", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"])))
        return Many(parts, " ", least=len(parts))

    def qualify(self, place):
        """A condition on a function over a window."""
        window = self.window("I", place)
        return Maybe(" QUALIFY ", Node("B", window, f" {self.rng.choice(['= 1', '> 1', '<= 2', '% 2 = 0', 'IS NOT NULL'])}"))

    def windowed(self, node, columns):
        """The query with functions over windows behind its columns. The windows have an order of all of these, so that
        peers are equal rows; some may be filtered by the results."""
        names = [name for name, _ in columns]
        made = [self.over(columns) for _ in range(self.rng.choice([1, 1, 2]))]
        # Which of several equal rows has which number is not defined, and so is what goes with it.
        apart = [TELLS_APART.search(function + window) is not None for function, window, _ in made]
        made = made[:1] if all(apart) else made
        added = [(f"o{i}", kind) for i, (_, _, kind) in enumerate(made) if f"o{i}" not in names]
        named = f" WINDOW w AS ({made[0][1]})" if self.chance(0.15) else ""
        spelled = [f"({window})" if i or not named else "w" for i, (_, window, _) in enumerate(made)]
        items = Many([f"{function} OVER {window} AS {name}" for (function, _, _), window, (name, _) in zip(made, spelled, added)])
        node = Node("", f"SELECT {', '.join(names)}, ", items, " FROM (", node, f") AS {self.fresh('o')}{named}")
        if not any(apart) and self.chance(0.15):
            node = Node("", node, f" QUALIFY row_number() OVER (ORDER BY {', '.join(names)}) {self.rng.choice(['> 1', '<= 2', '% 2 = 1'])}")
        return node, columns + added

    def over(self, columns):
        """A function, its window and its kind."""
        rng = self.rng
        names = [name for name, _ in columns]
        name, kind = rng.choice(columns)
        nulls = rng.choice(["", "", " IGNORE NULLS"])
        default = f"lag({name}, 1, {self.constant(kind)})" if kind in "ITDP" else f"lag({name}, -1)"
        functions = [("row_number()", "I"), ("rank()", "I"), ("dense_rank()", "I"), (f"ntile({rng.choice([1, 2, 3])})", "I"),
                     (f"lag({name}, {rng.choice([0, 1, 2])}{nulls})", kind), (f"lead({name}{nulls})", kind), (default, kind),
                     (f"first_value({name}{nulls})", kind), (f"last_value({name}{nulls})", kind), (f"nth_value({name}, 2{nulls})", kind),
                     ("percent_rank()", "F"), ("cume_dist()", "F"),
                     ("count(*)", "I"), (f"count({name})", "I"), (f"count(DISTINCT {name})", "I"), (f"min({name})", kind), (f"max({name})", kind)]
        functions = [f for f in functions if kind != "B" or not f[0].startswith(("min", "max"))]
        if kind in "IF":
            functions += [(f"sum({name})", kind)] * 3
        if kind in "IT":
            functions += [(f"{rng.choice(['list', 'array_agg'])}({name})", "L" if kind == "I" else "K")] * 2
        if kind == "T":
            functions += [(f"string_agg({name}, '-')", "T")]
        function, result = rng.choice(functions)
        partition = f"PARTITION BY {', '.join(rng.sample(names, rng.choice(range(1, len(names) + 1))))} " if self.chance(0.5) else ""
        order = ", ".join(f"{n}{rng.choice(NULLS)}" for n in rng.sample(names, len(names)))
        frame = rng.choice(["", "", " {} 1 PRECEDING", " {} BETWEEN 1 PRECEDING AND 1 FOLLOWING", " {} BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
                            " {} BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING", " {} BETWEEN 2 FOLLOWING AND 3 FOLLOWING",
                            " {} BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", " {} CURRENT ROW"])
        frame = frame.format(rng.choice(["ROWS", "GROUPS"]))
        exclude = rng.choice(["", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"]) if frame else ""
        return function, f"{partition}ORDER BY {order}{frame}{exclude}", result
