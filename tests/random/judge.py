"""What is said of a statement: both systems agree, one refuses it, or they differ."""

import random
import re

import compare
import shrink
from statement import Statement
from systems import Failed
from variants import draw

#: Why a statement may fail in one system alone while it runs. Each is a line of docs/sql.md, or of DuckDB.
EXPLAINED = {
    "palais": {
        r"[Oo]verflow": "which rows are computed, and in which type, depends on the plan",
        r"cannot cast -\d+ to UBIGINT": "bits of an unsigned number and a negative one",
    },
    "DuckDB": {
        r"Overflow in|out of range|Could not cast value|Failed to cast decimal": "DuckDB takes the narrowest type for a constant",
        # `least(a.g, a.g, b.g)` in a CTE that is read twice.
        r"^Serialization Error": "DuckDB copies its plan, and can't read the copy",
        r"Invalid type for BETWEEN": "DuckDB has no BETWEEN of lists where it comes of a join",
    },
}

#: Names of tables, and those that are written into the statement.
TABLE, INLINED = re.compile(r"\b(t\d)\b"), re.compile(r"\b(t\d)\(")

FAMILY = [(r"'[^']*'", "'…'"), (r'"[^"]*"', '"…"'), (r"\b[a-z]+\d+(\.\w+)?\b", "x"), (r"\d+", "N"), (r"\s+", " ")]


def family(message):
    """A message without what is peculiar to one statement."""
    text = message.strip().split("\n")[0]
    for what, by in FAMILY:
        text = re.sub(what, by, text)
    return text[:160]


class Verdict:
    """What came of a statement. `kind` is `agree`, `refused` (by palais), `unasked` (refused by DuckDB alone or by
    both), `explained` or `differ`; `how` is the family of it, `text` all that is to be told."""

    def __init__(self, kind, how="", text=""):
        self.kind, self.how, self.text = kind, how, text


def answer(system, sql):
    """The result, or why there is none."""
    try:
        return system.run(sql)
    except Failed as failed:
        return failed


def verdict(ours, theirs, ordered):
    """Compares an answer of palais with DuckDB's."""
    if isinstance(ours, Failed) and ours.at == "end":
        return Verdict("differ", f"end: {family(ours.message)}", f"palais {ours.message}")
    if isinstance(theirs, Failed) and theirs.at != "run":
        return Verdict("unasked", "both refuse" if isinstance(ours, Failed) else f"DuckDB: {family(theirs.message)}")
    if isinstance(ours, Failed) and ours.at == "plan":
        return Verdict("refused", family(ours.message), ours.message)
    if isinstance(ours, Failed) and isinstance(theirs, Failed):
        return Verdict("agree", "both fail")
    for failed, who, other in ((ours, "palais", theirs), (theirs, "DuckDB", ours)):
        if isinstance(failed, Failed):
            for pattern, why in EXPLAINED[who].items():
                if re.search(pattern, failed.message):
                    return Verdict("explained", why)
            return Verdict("differ", f"{who} fails: {family(failed.message)}", f"{who}: {failed.message}\nand the other gives\n{other}")
    if how := compare.difference(ours, theirs, ordered):
        return Verdict("differ", how, f"palais\n{ours}\nDuckDB\n{theirs}")
    return Verdict("agree")


class Judge:
    """Runs statements on the systems and compares."""

    def __init__(self, duckdb, runner, variants):
        self.duckdb, self.runner, self.variants = duckdb, runner, variants

    def judge(self, seed, statement):
        """The verdict on a statement, with one variant of it."""
        sql = str(statement)
        ours = answer(self.runner, sql)
        said = self.compared(sql, ours, statement.ordered)
        if said.kind == "differ" or (isinstance(ours, Failed) and ours.at == "plan"):
            return said
        variant = draw(random.Random(f"{seed} variant"), statement)
        if how := self.variants.differs(variant, statement, sql, ours):
            return Verdict("differ", f"variant {variant}", how)
        return said

    def compared(self, sql, ours, ordered):
        """The verdict on an answer of palais. Where DuckDB's is another one, DuckDB is asked without its optimiser too,
        which loses rows now and then, and runs subqueries whose value nothing needs."""
        said = verdict(ours, answer(self.duckdb, sql), ordered)
        if said.kind != "differ" or isinstance(ours, Failed):
            return said
        try:
            agrees = not compare.difference(ours, self.duckdb.plainly(sql), ordered)
        except Failed:
            agrees = False
        return Verdict("explained", "DuckDB gives the same without its optimiser") if agrees else said

    def smaller(self, said, statement, tables):
        """A smaller statement that differs in the same way, if possible with its tables in it; or None."""
        ordered = said.how == "order"
        compared = lambda sql: self.compared(sql, answer(self.runner, sql), ordered)
        variant = said.how.removeprefix("variant ")
        tree = statement.tree
        if variant in ("thirds", "count"):
            # One of the statements that don't fit one another is wrong itself.
            split = statement.split
            trees = split.thirds() if variant == "thirds" else split.counts()
            tree, said = next(((tree, v) for tree in trees if (v := compared(str(tree))).kind == "differ"), (None, said))
            if not tree:
                return None
        elif variant != said.how:
            plain = Statement(None)
            compared = lambda sql: self.variant_verdict(variant, plain, sql)
        small = self.shrunk(tree, [] if variant == "other files" else tables, said, compared)
        return f"{small}\n{compared(small).text}"

    def variant_verdict(self, variant, statement, sql):
        how = self.variants.differs(variant, statement, sql, answer(self.runner, sql))
        return Verdict("differ", f"variant {variant}", how) if how else Verdict("agree")

    def shrunk(self, tree, tables, said, compared):
        """The text of the smallest statement of which the same is said."""
        inlined, is_inlined = shrink.with_values(tree, tables), False

        def holds(sql):
            if is_inlined and set(TABLE.findall(sql)) - set(INLINED.findall(sql)):
                return False
            again = compared(sql)
            return (again.kind, again.how) == (said.kind, said.how)

        is_inlined = inlined is not tree and holds(str(inlined))
        return str(shrink.shrink(inlined if is_inlined else tree, holds))
