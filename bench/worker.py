"""One peer in a process of its own: `worker.py ENGINE DATA THREADS` answers lines of JSON on standard input.

Request: `{"query": "2a", "encoding": "parquet", "keep": PATH or null}`. The answer holds `seconds`, the time from the
query's text to the whole result in memory as Arrow, and `rows`. With `keep` the result is then written to PATH as
Parquet. Tables are opened before the clock starts. The first answer, to an empty line, is the engine's version.
"""

import json
import os
import sys
import time
from datetime import date
from pathlib import Path

import queries


def files(data, encoding, table):
    """The part files of a table."""
    directory = Path(data) / encoding / table
    return sorted(str(p) for p in directory.iterdir() if p.suffix == f".{encoding}")


class DuckDB:
    def __init__(self, data, threads):
        import duckdb

        self.version = duckdb.__version__
        self.data = data
        self.db = duckdb.connect(config={"threads": threads})

    def prepare(self, encoding):
        for table, columns in queries.TABLES.items():
            paths = files(self.data, encoding, table)
            if encoding == "parquet":
                relation = self.db.read_parquet(paths)
            else:
                relation = self.db.read_csv(paths, header=False, columns=columns, delimiter=",", quotechar='"')
            relation.create_view(table, replace=True)

    def run(self, query):
        return self.db.sql(queries.sql(query)).to_arrow_table()


class DataFusion:
    def __init__(self, data, threads):
        import datafusion
        import pyarrow

        self.version, self.module, self.pyarrow = datafusion.__version__, datafusion, pyarrow
        self.data, self.threads = data, threads

    def prepare(self, encoding):
        config = self.module.SessionConfig().with_target_partitions(self.threads)
        config = config.set("datafusion.sql_parser.enable_ident_normalization", "false")
        self.context = self.module.SessionContext(config)
        types = {"VARCHAR": "string", "INTEGER": "int32", "FLOAT": "float32", "DATE": "date32"}
        for table, columns in queries.TABLES.items():
            directory = str(Path(self.data) / encoding / table)
            if encoding == "parquet":
                self.context.register_parquet(table, directory)
            else:
                schema = self.pyarrow.schema([(n, self.pyarrow.type_for_alias(types[t])) for n, t in columns.items()])
                self.context.register_csv(table, directory, schema=schema, has_header=False, file_extension=".csv")

    def run(self, query):
        frame = self.context.sql(queries.sql(query))
        return self.pyarrow.Table.from_batches(frame.collect(), schema=frame.schema())


class Polars:
    def __init__(self, data, threads):
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars

        self.version, self.pl, self.data = polars.__version__, polars, data

    def prepare(self, encoding):
        pl, self.tables = self.pl, {}
        types = {"VARCHAR": pl.String, "INTEGER": pl.Int32, "FLOAT": pl.Float32, "DATE": pl.Date}
        for table, columns in queries.TABLES.items():
            paths = files(self.data, encoding, table)
            if encoding == "parquet":
                self.tables[table] = pl.scan_parquet(paths)
            else:
                schema = {name: types[kind] for name, kind in columns.items()}
                self.tables[table] = pl.scan_csv(paths, has_header=False, schema=schema)

    def run(self, query):
        return self.plan(query).collect(engine="streaming")

    def plan(self, query):
        col, rankings, visits = self.pl.col, self.tables["rankings"], self.tables["uservisits"]
        # Sums of 32-bit floats are 64-bit in the other engines.
        revenue = col("adRevenue").cast(self.pl.Float64).sum()
        if query in queries.LIMITS:
            return rankings.filter(col("pageRank") > queries.LIMITS[query]).select("pageURL", "pageRank")
        if query in queries.PREFIXES:
            return visits.group_by(col("sourceIP").str.slice(0, queries.PREFIXES[query])).agg(revenue)
        last = date.fromisoformat(queries.DATES[query])
        return (
            visits.filter(col("visitDate").is_between(date(1980, 1, 1), last))
            .join(rankings, left_on="destURL", right_on="pageURL")
            .group_by("sourceIP")
            .agg(revenue.alias("totalRevenue"), col("pageRank").mean().alias("avgPageRank"))
            .sort("totalRevenue", descending=True)
            .head(1)
        )


ENGINES = {"duckdb": DuckDB, "polars": Polars, "datafusion": DataFusion}


def keep(result, path):
    """Writes a result as Parquet."""
    import pyarrow.parquet

    table = result.to_arrow() if hasattr(result, "to_arrow") else result
    pyarrow.parquet.write_table(table, path)


def main():
    name, data, threads = sys.argv[1:]
    engine = ENGINES[name](data, int(threads))
    prepared = None
    for line in sys.stdin:
        answer = {"version": engine.version}
        if line.strip():
            request = json.loads(line)
            if prepared != request["encoding"]:
                prepared = request["encoding"]
                engine.prepare(prepared)
            start = time.perf_counter()
            result = engine.run(request["query"])
            answer = {"seconds": time.perf_counter() - start, "rows": len(result)}
            if request["keep"]:
                keep(result, request["keep"])
            del result
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
