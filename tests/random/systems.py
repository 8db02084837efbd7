"""What statements run on: DuckDB, palais in a process that stays, and the program itself."""

import json
import os
import re
import select
import subprocess
import threading

import duckdb

import compare

#: Seconds after which a statement counts as hanging. A busy machine needs more than usual.
PATIENCE = int(os.environ.get("RANDOM_PATIENCE", 30))


class Failed(Exception):
    """A statement that was not answered: `at` is `plan` (it was refused), `run`, or `end` for a process that ended or
    hangs."""

    def __init__(self, at, message):
        super().__init__(message)
        self.at, self.message = at, message


class DuckDB:
    """The oracle."""

    def __init__(self):
        self.tables = []
        self.start()

    def start(self):
        self.db = duckdb.connect(config={"threads": 1})
        for setting in ("TimeZone = 'UTC'",):
            self.db.execute(f"SET {setting}")
        self.db.execute("CREATE MACRO regexp_like(text, pattern) AS regexp_matches(text, pattern)")

    def make(self, tables):
        self.tables = tables
        for table in tables:
            for statement in table.create():
                self.db.execute(statement)

    def plainly(self, sql):
        """Its answer without its optimiser, and with any row of a scalar subquery that has several."""
        self.db.execute("PRAGMA disable_optimizer")
        self.db.execute("SET scalar_subquery_error_on_multiple_rows = false")
        try:
            return self.run(sql)
        finally:
            self.db.execute("PRAGMA enable_optimizer")
            self.db.execute("SET scalar_subquery_error_on_multiple_rows = true")

    def run(self, sql):
        timer = threading.Timer(PATIENCE, self.db.interrupt)
        timer.start()
        try:
            result = self.db.execute(sql)
            return compare.of_duckdb(result)
        except (duckdb.InternalException, duckdb.FatalException) as error:
            # The database takes no further statement after such an error.
            self.start()
            self.make(self.tables)
            raise Failed("plan", f"a defect of DuckDB's: {error}") from None
        except duckdb.Error as error:
            refused = (duckdb.BinderException, duckdb.ParserException, duckdb.CatalogException, duckdb.NotImplementedException)
            at = "plan" if isinstance(error, refused) else "end" if isinstance(error, duckdb.InterruptException) else "run"
            raise Failed(at, str(error)) from None
        finally:
            timer.cancel()


class Runner:
    """palais in a process of its own, which is started anew when it ends."""

    def __init__(self, program):
        self.program, self.sets, self.process = str(program), {}, None

    def start(self):
        self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for name, tables in self.sets.items():
            self.ask({"open": tables, "as": name})

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.communicate()
        self.process = None

    def open(self, name, tables):
        """Opens a set of tables."""
        self.sets[name] = tables
        if self.process:
            self.ask({"open": tables, "as": name})

    def ask(self, order):
        if not self.process:
            self.start()
        try:
            print(json.dumps(order), file=self.process.stdin, flush=True)
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            line = self.process.stdout.readline() if ready else None
        except BrokenPipeError:
            line = ""
        if not line:
            if line is None:
                self.process.kill()
            said = self.process.communicate()[1].strip()
            code, self.process = self.process.returncode, None
            raise Failed("end", f"hangs for {PATIENCE} s" if line is None else f"ended with {code}: {said}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["at"], answer["error"])
        return answer

    def run(self, sql, over="base", **how):
        answer = self.ask({"sql": sql, "over": over, **how})
        return compare.of_palais(answer["types"], answer["rows"])


class Program:
    """The program, a process a statement."""

    def __init__(self, program):
        self.program = str(program)

    def run(self, sql, tables, like, *command):
        """Runs a statement; `like` is a result with its columns."""
        arguments = [self.program, *command, sql, "--format", "csv", "--no-progress"]
        for name, (place, schema) in tables.items():
            arguments += ["--table", f"{name}={place}"]
            arguments += ["--schema", f"{name}={schema}"] if schema else []
        try:
            done = subprocess.run(arguments, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Failed("end", f"hangs for {PATIENCE} s") from None
        if done.returncode == 1:
            raise Failed("run", done.stderr.strip().removeprefix("error: "))
        if done.returncode:
            raise Failed("end", f"ended with {done.returncode}: {done.stderr.strip()}")
        return compare.of_csv(fields(done.stdout)[1:], like)


FIELD = re.compile(r'(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n)')


def fields(text):
    """The rows of csv text; an empty field without quotes is None."""
    rows, row = [], []
    for field in FIELD.finditer(text):
        quoted, bare, end = field.groups()
        row.append(bare or None if quoted is None else quoted.replace('""', '"'))
        if end == "\n":
            rows.append(row)
            row = []
    return rows
