"""Makes rows of the table `hits`: `.venv/bin/python bench/clickbench/generate.py 200000 DIR`.

The names, types and order of the 105 columns are those of ClickBench, a public benchmark (ClickHouse/ClickBench on GitHub).
The values are made here, and nothing of the published data is in them. DIR gets `parquet/hits.parquet`, `csv/hits.csv` and
`jsonl/hits.jsonl`, all with the same rows. Rows come in blocks of 65,536; a block is a function of the seed, of its number
and of the number of all rows, so that memory does not grow with the rows.

`columns.csv` names a law for each column:

| law | values |
|---|---|
| `zero`, `one` | 0, 1 |
| `flag P` | 1 with the probability P, else 0 |
| `below N` | 0 to N - 1, each as often |
| `few N` | 0 to N - 1, small ones more often |
| `mostly P N` | 0 with the probability P, else 1 to N |
| `hash` | any value of the type |
| `number P N` | a text: with the probability P a number below N, else empty |
| `word P` | a text: with the probability P a word, else empty |
| `made` | as follows |

- **Users.** A fifth as many as rows, some of them with many rows. `UserID`, `ClientIP`, `RegionID` (5,000), `OS`, `UserAgent`,
  the resolution, the phone and its model, the language, the country and the time zone belong to the user. The most frequent
  one is 435090932899640449. A tenth of the users has a phone.
- **Times.** July 2013, two fifths of the rows on the 14th and 15th. A third of the times are whole minutes, so that an order by
  time has ties.
- **Counters.** `CounterID` is 62 in two fifths of the rows, else one of 5,000.
- **Pages.** `URL` is empty in 1 of 200 rows. One page has three tenths of the rows, and its `URLHash` is 2868770270353813622.
  The others are one for three rows, popular ones more often. 1 page of 25 has `google` in its address, half of these
  `.google.`. `Title` belongs to the page but for its last word. It is empty for 1 page of 7; 1 of 30 has `Google`.
- **Referers.** Empty in a third of the rows. One has 15 % of the rows, and its `RefererHash` is 3594120000172545465. Addresses
  begin with `http`, `https`, with `www.` or not; some have no path.
- **Searches.** `SearchPhrase` is empty in six of seven rows. Else it is one to three words, Latin or Cyrillic, some with
  quotes or commas. `SearchEngineID` is 0 without a phrase, and in 1 of 20 rows with one.
- **Sources.** `TraficSourceID` is -1 to 10, and -1 or 6 in three of ten rows. `AdvEngineID` is 0 in 24 of 25 rows.
- **Windows.** The client's window is of any size up to 2,000 by 1,200, so that their pairs are many.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

BLOCK = 65_536
USER, PAGE, REFERER = 435090932899640449, 2868770270353813622, 3594120000172545465
TYPES = {
    "SMALLINT": pa.int16(), "INTEGER": pa.int32(), "BIGINT": pa.int64(), "VARCHAR": pa.string(), "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
}  # fmt: skip
WORDS = """news weather shop garden travel video music river bread winter school phone house music&dance cheap "best"
red,blue новости погода купить фото машина дом работа река хлеб зима школа карта ёлка café naïve 2013 ticket forum
recipe""".split()
HOSTS = """example.com shop.example news.example.org video.example games.example forum.example.net мир.example
travel.example""".split()
ENGINES = "www.google.com google.example search.example www.find.example".split()
MODELS = "One Two,Plus Nova X3 Lumen Kite Fox-9 Ära".split()
LANGUAGES = "ru en de uk tr fr es zh".split()
COUNTRIES = "RU US DE UA TR FR ES CN".split()
WIDTHS, HEIGHTS = [1024, 1280, 1366, 1440, 1600, 1920], [768, 800, 768, 900, 900, 1080]
JULY = np.datetime64("2013-07-01", "s")
DAY = 86_400


def columns():
    """Rows of `columns.csv`: name, type, law."""
    with open(Path(__file__).with_name("columns.csv")) as file:
        return [tuple(row) for row in list(csv.reader(file))[1:]]


SCHEMA = pa.schema([pa.field(name, TYPES[kind], nullable=False) for name, kind, _ in columns()])


def mixed(values, of):
    """Integers without a pattern, a function of integers and of what they are made for (the finisher of splitmix64)."""
    x = np.asarray(values).astype(np.uint64) + np.uint64(of * 0x9E3779B97F4A7C15 & (1 << 64) - 1)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def take(items, numbers):
    """Items by numbers that may be larger than how many there are."""
    return pa.array(items).take(pa.array(np.asarray(numbers).astype(np.uint64) % np.uint64(len(items))))


def joined(*parts):
    """Texts of parts, which are arrays or one text for all."""
    return pc.binary_join_element_wise(*parts, "")


def unless(mask, texts):
    """Texts, empty where the mask is set."""
    return pc.if_else(pa.array(mask), "", texts)


def number_text(values):
    return pa.array(np.asarray(values).astype(np.int64)).cast(pa.string())


class Block:
    """The columns of some rows."""

    def __init__(self, seed, number, rows, total):
        self.draws, self.rows, self.total = np.random.default_rng([seed, number]), rows, total

    def uniform(self):
        return self.draws.random(self.rows)

    def below(self, n):
        return self.draws.integers(0, n, self.rows).astype(np.uint64)

    def with_chance(self, chance):
        return self.uniform() < chance

    def by_law(self, kind, law):
        word, *numbers = law.split()
        numbers = [float(number) for number in numbers]
        if word in ("zero", "one"):
            return np.full(self.rows, word == "one")
        if word == "flag":
            return self.with_chance(numbers[0])
        if word == "below":
            return self.below(int(numbers[0]))
        if word == "few":
            return (self.uniform() ** 3 * numbers[0]).astype(np.int64)
        if word == "mostly":
            return np.where(self.with_chance(numbers[0]), 0, 1 + self.below(int(numbers[1])))
        if word == "hash":
            bits = TYPES[kind].bit_width
            return self.draws.integers(-(1 << bits - 1), 1 << bits - 1, self.rows)
        if word == "number":
            return unless(~self.with_chance(numbers[0]), number_text(self.below(int(numbers[1]))))
        if word == "word":
            return unless(~self.with_chance(numbers[0]), take(WORDS, self.below(1000)))
        raise ValueError(f"no law {law}")

    def of_users(self):
        users = max(1, self.total // 5)
        user = (self.uniform() ** 2 * users).astype(np.uint64)
        screen, place = mixed(user, 1) % np.uint64(len(WIDTHS)), mixed(user, 2) % np.uint64(len(COUNTRIES))
        phone = mixed(user, 3) % np.uint64(10) == 0
        ids = (mixed(user, 4) >> np.uint64(1)).astype(np.int64)
        return {
            "UserID": np.where(user == 0, USER, ids),
            "ClientIP": mixed(user, 5).astype(np.uint32).view(np.int32),
            "RegionID": ((mixed(user, 6) % np.uint64(10_000)) / 10_000) ** 3 * 5_000,
            "OS": mixed(user, 7) % np.uint64(90),
            "UserAgent": mixed(user, 8) % np.uint64(80),
            "ResolutionWidth": np.array(WIDTHS)[screen],
            "ResolutionHeight": np.array(HEIGHTS)[screen],
            "IsMobile": phone,
            "MobilePhone": np.where(phone, 1 + mixed(user, 9) % np.uint64(70), 0),
            "MobilePhoneModel": unless(~phone, take(MODELS, mixed(user, 10))),
            "BrowserLanguage": take(LANGUAGES, place),
            "BrowserCountry": take(COUNTRIES, place + mixed(user, 11) % np.uint64(2)),
            "ClientTimeZone": (mixed(user, 12) % np.uint64(24)).astype(np.int64) - 11,
        }

    def of_times(self):
        day = np.where(self.with_chance(0.4), 13 + self.below(2), self.below(31)).astype(np.int64)
        second = self.below(DAY).astype(np.int64)
        second -= np.where(self.with_chance(1 / 3), second % 60, 0)
        time = JULY + (day * DAY + second)
        return {
            "EventTime": time,
            "EventDate": time.astype("datetime64[D]"),
            "ClientEventTime": time + self.below(120).astype(np.int64) - 60,
            "LocalEventTime": time + self.below(24).astype(np.int64) * 3600,
        }

    def of_pages(self):
        pages = max(2, self.total // 3)
        page = np.where(self.with_chance(0.3), 0, 1 + self.uniform() ** 2 * (pages - 1)).astype(np.uint64)
        google = mixed(page, 20) % np.uint64(50)
        host = pc.if_else(pa.array(google == 0), "www.google.example", take(HOSTS, mixed(page, 21)))
        host = pc.if_else(pa.array(google == 1), "googlemail.example", host)
        end = take(["", ".html", "?id=1", "/a,b"], mixed(page, 23))
        path = joined("/", take(WORDS, mixed(page, 22)), "/", number_text(page), end)
        url = joined(take(["http://", "https://", "http://www."], mixed(page, 24)), host, path)
        gone = self.with_chance(1 / 200)
        middle = pc.if_else(pa.array(mixed(page, 26) % np.uint64(30) == 0), " Google ", " page ")
        title = joined(take(WORDS, mixed(page, 25)), middle, take(WORDS, self.below(1000)))
        hashes = np.where(page == 0, PAGE, mixed(page, 27).view(np.int64))
        return {
            "URL": unless(gone, url),
            "URLHash": np.where(gone, 0, hashes),
            "OriginalURL": unless(~self.with_chance(0.1), url),
            "Title": unless(mixed(page, 28) % np.uint64(7) == 0, title),
        }

    def of_referers(self):
        pages = max(2, self.total // 4)
        chosen = self.with_chance(0.15)
        gone = ~chosen & self.with_chance(0.4)
        page = np.where(chosen, 0, 1 + self.uniform() ** 2 * (pages - 1)).astype(np.uint64)
        of_engine = pa.array(mixed(page, 30) % np.uint64(3) == 0)
        host = pc.if_else(of_engine, take(ENGINES, mixed(page, 31)), take(HOSTS, mixed(page, 32)))
        path = joined("/", take(WORDS, mixed(page, 34)), "/", number_text(page))
        path = unless(mixed(page, 33) % np.uint64(9) == 0, path)
        hashes = np.where(page == 0, REFERER, mixed(page, 35).view(np.int64))
        return {
            "Referer": unless(gone, joined(take(["http://", "https://", "http://www."], mixed(page, 36)), host, path)),
            "RefererHash": np.where(gone, 0, hashes),
        }

    def of_searches(self):
        none = ~self.with_chance(1 / 7)
        words = [take(WORDS, self.uniform() ** 2 * len(WORDS)) for _ in range(3)]
        several = pa.array(self.with_chance(0.5))
        phrase = pc.if_else(several, joined(words[0], " ", words[1]), words[0])
        phrase = pc.if_else(pa.array(self.with_chance(0.2)), joined(phrase, " ", words[2]), phrase)
        return {
            "SearchPhrase": unless(none, phrase),
            "SearchEngineID": np.where(none | self.with_chance(0.05), 0, 1 + self.below(60)),
        }

    def of_others(self):
        currency = np.where(self.with_chance(0.99), 0, 1 + self.below(3))
        source = np.where(self.with_chance(0.3), np.where(self.with_chance(0.5), -1, 6), self.below(12).astype(np.int64) - 1)
        return {
            "CounterID": np.where(self.with_chance(0.4), 62, 100 + self.uniform() ** 3 * 5_000),
            "TraficSourceID": source,
            "AdvEngineID": np.where(self.with_chance(0.96), 0, 2 + self.below(18)),
            "WindowClientWidth": self.below(2_001),
            "WindowClientHeight": self.below(1_201),
            "PageCharset": take(["utf-8", "windows-1251", "", "koi8-r"], self.uniform() ** 2 * 4),
            "HitColor": take(list("5CGEDBF"), self.below(7)),
            "ParamCurrencyID": currency,
            "ParamCurrency": take(["", "RUB", "USD", "EUR"], currency),
        }

    def table(self):
        made = {}
        for part in (self.of_users, self.of_times, self.of_pages, self.of_referers, self.of_searches, self.of_others):
            made |= part()
        arrays = []
        for name, kind, law in columns():
            values = made.pop(name) if law == "made" else self.by_law(kind, law)
            if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
                values = values.astype(np.int64)
            arrays.append(pa.array(values).cast(TYPES[kind]))
        assert not made, f"columns.csv lacks {list(made)}"
        return pa.Table.from_arrays(arrays, schema=SCHEMA)


class Lines:
    """JSON lines."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def write_table(self, table):
        parts = []
        for column, kind in zip(table.itercolumns(), table.schema.types):
            texts = column.combine_chunks().cast(pa.string())
            if pa.types.is_string(kind):
                texts = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
            if not pa.types.is_integer(kind):
                texts = joined('"', texts, '"')
            parts.append(texts)
        pairs = [joined(f'"{name}":', texts) for name, texts in zip(table.column_names, parts)]
        lines = joined("{", pc.binary_join_element_wise(*pairs, ","), "}\n")
        self.file.write("".join(lines.to_pylist()).encode())

    def close(self):
        self.file.close()


class Csv:
    """csv with a header; texts are quoted, so that an empty one is no NULL."""

    def __init__(self, path):
        self.schema = pa.schema([pa.field(f.name, in_seconds(f.type)) for f in SCHEMA])
        self.writer = pyarrow.csv.CSVWriter(path, self.schema)

    def write_table(self, table):
        self.writer.write_table(table.cast(self.schema))

    def close(self):
        self.writer.close()


def in_seconds(kind):
    return pa.timestamp("s") if pa.types.is_timestamp(kind) else kind


def generate(rows, directory, seed=1, encodings=("parquet", "csv", "jsonl")):
    """Makes the files. A file appears when it is whole."""
    writers = {"parquet": lambda path: pyarrow.parquet.ParquetWriter(path, SCHEMA), "csv": Csv, "jsonl": Lines}
    paths = {encoding: Path(directory) / encoding / f"hits.{encoding}" for encoding in encodings}
    for path in paths.values():
        path.parent.mkdir(parents=True, exist_ok=True)
    outputs = [writers[encoding](path.with_suffix(".unfinished")) for encoding, path in paths.items()]
    for number, first in enumerate(range(0, rows, BLOCK)):
        table = Block(seed, number, min(BLOCK, rows - first), rows).table()
        for output in outputs:
            output.write_table(table)
    for output, path in zip(outputs, paths.values()):
        output.close()
        path.with_suffix(".unfinished").rename(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--encodings", default="parquet,csv,jsonl")
    args = parser.parse_args()
    generate(args.rows, args.directory, args.seed, args.encodings.split(","))


if __name__ == "__main__":
    main()
