# make demo    builds, makes a small benchmark set, converts it to buren and runs the ten queries
# make test    everything that a change must pass: format, documents, clippy, tests, the oracle, random statements
# make bench   palais against DuckDB, Polars and DataFusion on 20 million rows
# make answers the ten queries on 20 million rows, over csv, Parquet and buren with 1, 2 and 5 workers, against DuckDB
# make formats every encoding with every compression on 20 million rows: bytes, seconds, answers against DuckDB's
# make small-files 100,000 files of 10 KB of csv and of JSON lines against one file of the same bytes
# make tpch    TPC-H by this binary and an older one, against DuckDB: TPCH="--before OLD"
# make tpcds   the 99 queries of TPC-DS against DuckDB: TPCDS="--only 14,64 --times --scale 0.1"
# make clickbench 43 queries over a table of 105 columns, against DuckDB: CLICKBENCH="1000000 --times"
# make scaling a query in 1 to 16 processes: SCALING="--data DIR …"
# make fuzz    an hour of cargo fuzz over all decoders of files and of what other processes send, or MINUTES=…; needs
#              cargo-fuzz and a nightly toolchain
# make soak    200 faults at random moments of queries in several processes, or SOAK="--runs …"; as root those of the
#              network too
# make stress  the tests ten times on a busy machine with a slow disk: STRESS="3 nodes", SIDE=5 for five at once
# make random  random statements on palais and on DuckDB: STATEMENTS=50000 SEED="1 2" (a new seed if none is given)
# make subqueries a grid of subqueries on palais and on DuckDB: SUBQUERIES="--expect-all", or "--only 'where/*in'"
# make deny    licences, advisories and sources of all crates; needs cargo-deny and the network
# make venv    the Python packages of the oracle and the benchmark, in .venv
# make others  the tools of other formats that the tests compare with: capnp, protoc
# make oracle  puts DuckDB's answers into the SQL tests

PYTHON ?= python3
VENV := .venv
PALAIS := target/release/palais
DEMO := target/demo

.PHONY: build demo test test-run test-oracle bench answers formats small-files tpch tpcds clickbench scaling fuzz soak stress random subqueries deny tools venv others oracle

build:
	cargo build --release

demo: build
	rm -rf $(DEMO)
	$(PALAIS) generate $(DEMO)/csv --rankings 100000 --uservisits 1000000 --documents 20000000 --to csv --parts 8
	for table in rankings uservisits documents; do \
	  $(PALAIS) convert $(DEMO)/csv/$$table $(DEMO)/buren/$$table --to buren || exit 1; \
	done
	mkdir $(DEMO)/results
	@for query in 1a 1b 1c 2a 2b 2c 3a 3b 3c "4 --allow-scripts"; do \
	  rows=$(DEMO)/results/$${query%% *}.csv; \
	  $(PALAIS) bdb $$query --data $(DEMO)/buren --output $$rows || exit 1; \
	  echo "   $$(($$(wc -l < $$rows) - 1)) rows in $$rows"; \
	  head -n 4 $$rows | sed 's/^/   /'; \
	done

test: tools venv others
	@echo "== 1 of 4: format, and the documents' sentences and links"
	cargo fmt --all --check
	$(PYTHON) tests/docs.py
	@echo "== 2 of 4: the build of the tests, with clippy"
	$(PYTHON) tests/build.py
	@echo "== 3 and 4 side by side; what each prints is shown when it ends"
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target test-run test-oracle
	@echo "== all passed"

# Steps of `make test`, which has built what they run. Tests wait a lot, for time to pass and for processes.
test-run:
	@echo "== 3 of 4: tests"
	$(PYTHON) tests/run.py

test-oracle:
	@echo "== 4 of 4: SQL tests, cookbook, functions, a wide table and random statements agree with DuckDB"
	$(VENV)/bin/python tests/oracle/slt.py --check
	$(VENV)/bin/python tests/oracle/cookbook.py
	$(VENV)/bin/python tests/oracle/functions.py --runner target/release/examples/random_runner
	$(VENV)/bin/python bench/clickbench.py 20000 --data target --encodings parquet,csv --workers 3
	$(VENV)/bin/python tests/random/run.py --statements 3000 --seed 2
	$(VENV)/bin/python tests/random/run.py --statements 2000 --seed new --tell

bench: build venv
	$(VENV)/bin/python bench/peers.py $(BENCH)

answers: build venv
	$(VENV)/bin/python bench/answers.py $(ANSWERS)

formats: build venv
	$(VENV)/bin/python bench/formats.py $(FORMATS)

small-files: build
	$(PYTHON) bench/small_files.py $(SMALL_FILES)

tpch: build venv
	$(VENV)/bin/python bench/tpch.py $(TPCH)

tpcds: build venv
	$(VENV)/bin/python bench/tpcds.py $(TPCDS)

clickbench: build venv
	$(VENV)/bin/python bench/clickbench.py $(or $(CLICKBENCH),200000)

scaling: build
	$(PYTHON) bench/scaling.py $(SCALING)

fuzz:
	formats/fuzz/run.sh $(MINUTES)

soak: build
	$(PYTHON) tests/soak.py $(PALAIS) $(SOAK)

stress:
	tests/stress.sh $(STRESS)

random: build venv
	cargo build --locked --release --example random_runner
	$(VENV)/bin/python tests/random/run.py --families --statements $(or $(STATEMENTS),10000) --seed $(or $(SEED),new) $(RANDOM_ARGS)

subqueries: build venv
	cargo build --locked --release --example random_runner
	$(VENV)/bin/python tests/subqueries/run.py $(SUBQUERIES)

deny:
	@cargo deny --version >/dev/null 2>&1 || { \
	  echo "cargo-deny is missing: cargo install --locked cargo-deny" >&2; exit 1; }
	cargo deny --workspace --locked check

oracle: venv
	$(VENV)/bin/python tests/oracle/slt_data.py
	$(VENV)/bin/python tests/oracle/slt_windows.py
	$(VENV)/bin/python tests/oracle/slt.py --write

# rustfmt and clippy, where the toolchain came without them
tools:
	@cargo fmt --version >/dev/null 2>&1 && clippy-driver --version >/dev/null 2>&1 || \
	  rustup component add rustfmt clippy

others:
	tests/interop/tools.sh

venv: $(VENV)/.ready

$(VENV)/.ready: tests/requirements.txt tests/oracle/venv.sh
	tests/oracle/venv.sh $(PYTHON) $(VENV)
