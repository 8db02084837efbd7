"""The answers of the ten benchmark queries, from DuckDB and, for query 4, from plain Python.

`python tests/oracle/bdb.py DATA OUT` reads DATA/rankings, DATA/uservisits (csv) and DATA/documents (csv or text), and
writes OUT/1a.csv to OUT/4.csv: a header, a row a line, in no particular order. On the way it holds the counting script
of query 4, `bench/url_count.py`, against its own version of what the script is to do.
"""

import csv
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb

SCRIPT = Path(__file__).resolve().parent.parent.parent / "bench" / "url_count.py"

RANKINGS = {"pageURL": "VARCHAR", "pageRank": "INTEGER", "avgDuration": "INTEGER"}
USERVISITS = {
    "sourceIP": "VARCHAR", "destURL": "VARCHAR", "visitDate": "DATE", "adRevenue": "FLOAT", "userAgent": "VARCHAR",
    "countryCode": "VARCHAR", "languageCode": "VARCHAR", "searchWord": "VARCHAR", "duration": "INTEGER",
}

QUERY_1 = "SELECT pageURL, pageRank FROM rankings WHERE pageRank > {}"
QUERY_2 = "SELECT SUBSTR(sourceIP, 1, {0}) AS ip, SUM(adRevenue) AS revenue FROM uservisits GROUP BY SUBSTR(sourceIP, 1, {0})"
QUERY_3 = """
    SELECT sourceIP, totalRevenue, avgPageRank
    FROM (SELECT sourceIP, AVG(pageRank) AS avgPageRank, SUM(adRevenue) AS totalRevenue
          FROM rankings AS R, uservisits AS UV
          WHERE R.pageURL = UV.destURL AND UV.visitDate BETWEEN DATE '1980-01-01' AND DATE '{}'
          GROUP BY UV.sourceIP)
    ORDER BY totalRevenue DESC LIMIT 1"""
QUERIES = {
    "1a": QUERY_1.format(1000), "1b": QUERY_1.format(100), "1c": QUERY_1.format(10),
    "2a": QUERY_2.format(8), "2b": QUERY_2.format(10), "2c": QUERY_2.format(12),
    "3a": QUERY_3.format("1980-04-01"), "3b": QUERY_3.format("1983-01-01"), "3c": QUERY_3.format("2010-01-01"),
}


def parts(directory):
    """The part files of a dataset, in order."""
    return sorted(p for p in directory.iterdir() if p.is_file() and p.name[0] not in "_.")


def link_counts(lines):
    """Phase 1 of query 4, page by page: (source page, destination page, count)."""
    pages = [["", []]]
    for line in lines:
        if line.startswith("http") and len(line.split(" ")) == 5:
            pages.append([line.split(" ")[0], []])
        pages[-1][1] += re.findall(r"https?://[^\s]+", line, flags=re.ASCII)
    rows = Counter()
    for number, (_, links) in enumerate(pages):
        # The counts of a page land on the page that follows.
        source = pages[min(number + 1, len(pages) - 1)][0]
        for link, count in Counter(links).items():
            rows[source, link] += count
    return rows


def lines_of(part):
    """The lines of a part of `documents`."""
    with part.open(encoding="utf-8", newline="") as file:
        if part.suffix == ".csv":
            return [row[0] if row else "" for row in csv.reader(file)]
        return file.read().split("\n")[:-1]


def query_4(directory):
    """SUM(count) by destination page, over each file's phase 1."""
    sums = Counter()
    for part in parts(directory):
        lines = lines_of(part)
        expected = link_counts(lines)
        text = "".join(line + "\n" for line in lines)
        done = subprocess.run([sys.executable, SCRIPT], input=text.encode(), capture_output=True, check=True)
        scripted = Counter()
        for row in done.stdout.decode().splitlines():
            source, dest, count = row.split("\t")
            scripted[source, dest] += int(count)
        if scripted != expected:
            sys.exit(f"{SCRIPT.name} counts other links in {part} than are there")
        for (_, dest), count in expected.items():
            sums[dest] += count
    return sums


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: bdb.py DATA OUT")
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    db = duckdb.connect(config={"threads": 1})
    for table, columns in (("rankings", RANKINGS), ("uservisits", USERVISITS)):
        files = [str(p) for p in parts(data / table)]
        db.read_csv(files, header=False, columns=columns, delimiter=",", quotechar='"').create(table)
    for name, sql in QUERIES.items():
        db.sql(sql).write_csv(str(out / f"{name}.csv"), header=True)
    with (out / "4.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["destPage", "cnt"])
        writer.writerows(query_4(data / "documents").items())


if __name__ == "__main__":
    main()
