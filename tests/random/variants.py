"""Other ways to run a statement that must give the same answer."""

import compare
from systems import Failed

#: How often each is drawn. The last two start processes: one statement in twenty.
WEIGHTS = {"2 workers": 15, "3 workers": 15, "3 workers, spread": 15, "tight memory": 15, "other files": 35, "program": 3, "processes": 2}
SETTINGS = {
    "2 workers": {"workers": 2},
    "3 workers": {"workers": 3},
    "3 workers, spread": {"workers": 3, "broadcast": 0},
    "tight memory": {"workers": 2, "broadcast": 0, "tight": True},
    "other files": {"over": "other"},
}


def draw(rng, statement):
    if statement.split and rng.random() < 0.8:
        return rng.choice(["thirds", "count"])
    return rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]


class Variants:
    """Runs variants on the systems there are."""

    def __init__(self, runner, program):
        self.runner, self.program = runner, program
        #: Where the tables of the program lie.
        self.tables = {}

    def differs(self, variant, statement, sql, base):
        """How the answer of a variant differs from that of the base (a result, or why it failed), or None."""
        if variant in ("thirds", "count"):
            return self.split_differs(variant, statement.split) if isinstance(base, compare.Result) else None
        try:
            other = self.run(variant, sql, base)
        except Failed as failed:
            # The sizes that files of another encoding tell are others: so can be what has to be refused.
            if failed.at == "plan":
                return None
            if failed.at == "end" or isinstance(base, compare.Result) and not (variant == "tight memory" and "out of memory" in failed.message):
                return f"{variant}: {failed.message}"
            return None
        if not isinstance(base, compare.Result):
            return f"{variant} gives rows, and one worker says {base.message}"
        if variant in ("program", "processes"):
            base, other = compare.plain(base), compare.plain(other)
        if how := compare.difference(base, other, statement.ordered):
            return f"{variant}: other {how}\n{other}\nand with one worker\n{base}"
        return None

    def run(self, variant, sql, base):
        if variant in SETTINGS:
            return self.runner.run(sql, **SETTINGS[variant])
        like = base if isinstance(base, compare.Result) else compare.Result([], [])
        if variant == "program":
            return self.program.run(sql, self.tables, like, "query")
        return self.program.run(sql, self.tables, like, "cluster", "run", "--local", "2", "--workers", "1")

    def split_differs(self, variant, split):
        try:
            if variant == "thirds":
                *thirds, whole = (self.runner.run(str(tree)).rows for tree in split.thirds())
                if not compare.same_rows(sum(thirds, []), whole):
                    counts = ", ".join(str(len(rows)) for rows in thirds)
                    return f"thirds: {counts} rows with p, NOT p and p IS NULL, {len(whole)} without a condition"
            else:
                filtered, projected = (self.runner.run(str(tree)).rows for tree in split.counts())
                if not compare.same_rows(filtered, projected):
                    return f"count: {filtered} rows pass the filter, {projected} where it is computed"
        except Failed as failed:
            return f"{variant}: {failed.message}" if failed.at == "end" else None
        return None
