#!/bin/sh
# Fuzzes all targets in turn with cargo fuzz: run.sh [minutes in all, 60] [target…]
#
# It needs a nightly toolchain and `cargo install cargo-fuzz`. What is found is left in artifacts/TARGET: put it into
# seeds/TARGET and mend the code. SANITIZER=address builds with AddressSanitizer, which takes longer and finds what
# unsafe code does to memory.
set -eu
cd "$(dirname "$0")"
minutes=${1:-60}
[ $# -eq 0 ] || shift
targets=${*:-$(sed -n 's/^name = "\(.*\)"$/\1/p' Cargo.toml | grep -v '^fuzz$')}
count=$(echo "$targets" | wc -w)
seconds=$((minutes * 60 / count))
[ "$seconds" -gt 0 ] || seconds=1
failed=
for target in $targets; do
  mkdir -p "corpus/$target"
  echo "== $target, $seconds seconds"
  cargo +nightly fuzz run --fuzz-dir . --sanitizer "${SANITIZER:-none}" "$target" "corpus/$target" "seeds/$target" -- \
    -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 ||
    failed="$failed $target"
done
[ -z "$failed" ] || { echo "found something in:$failed" >&2; exit 1; }
