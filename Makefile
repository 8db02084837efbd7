# make demo    builds, makes a small benchmark set, converts it to buren and runs the ten queries
# make test    everything that CI runs
# make bench   palais against DuckDB, Polars and DataFusion on 20 million rows
# make venv    the Python packages of the oracle and the benchmark, in .venv
# make oracle  puts DuckDB's answers into the SQL tests

PYTHON ?= python3
VENV := .venv
PALAIS := target/release/palais
DEMO := target/demo

.PHONY: build demo test bench venv oracle

build:
	cargo build --release

demo: build
	rm -rf $(DEMO)
	$(PALAIS) generate $(DEMO)/csv --rankings 100000 --uservisits 1000000 --documents 20000000 --to csv --parts 8
	for table in rankings uservisits documents; do \
	  $(PALAIS) convert $(DEMO)/csv/$$table $(DEMO)/buren/$$table --to buren || exit 1; \
	done
	for query in 1a 1b 1c 2a 2b 2c 3a 3b 3c; do \
	  $(PALAIS) bdb $$query --data $(DEMO)/buren || exit 1; \
	done
	$(PALAIS) bdb 4 --data $(DEMO)/buren --allow-scripts

test: venv
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	cargo test --release --workspace
	$(VENV)/bin/python tests/oracle/slt.py --check

bench: build venv
	$(VENV)/bin/python bench/peers.py $(BENCH)

oracle: venv
	$(VENV)/bin/python tests/oracle/slt_data.py
	$(VENV)/bin/python tests/oracle/slt.py --write

venv: $(VENV)/.ready

$(VENV)/.ready: tests/requirements.txt tests/oracle/venv.sh
	tests/oracle/venv.sh $(PYTHON) $(VENV)
