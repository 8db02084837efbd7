#!/bin/sh
# Fuzzes all targets of formats/fuzz, queries/fuzz and cluster/fuzz in turn with cargo fuzz: run.sh [minutes in all, 60] [target…]
#
# It needs a nightly toolchain and `cargo install cargo-fuzz`. What is found is left in artifacts/TARGET of the package: put
# it into its seeds/TARGET and mend the code. SANITIZER=address builds with AddressSanitizer, which takes longer and finds
# what unsafe code does to memory.
set -eu
cd "$(dirname "$0")/../.."
# As much stack as the threads of the program have, in KiB.
ulimit -s 65536
manifests="formats/fuzz/Cargo.toml queries/fuzz/Cargo.toml cluster/fuzz/Cargo.toml"
minutes=${1:-60}
[ $# -eq 0 ] || shift
targets=${*:-$(cat $manifests | sed -n 's/^name = "\(.*\)"$/\1/p' | grep -v '^fuzz$')}
count=$(echo "$targets" | wc -w)
seconds=$((minutes * 60 / count))
[ "$seconds" -gt 0 ] || seconds=1
failed=
for target in $targets; do
  manifest=$(grep -lxF "name = \"$target\"" $manifests) || { echo "there is no target $target" >&2; exit 2; }
  echo "== $target, $seconds seconds"
  (
    cd "$(dirname "$manifest")"
    mkdir -p "corpus/$target"
    cargo +nightly fuzz run --fuzz-dir . --sanitizer "${SANITIZER:-none}" "$target" "corpus/$target" "seeds/$target" -- \
      -max_total_time="$seconds" -max_len=65536 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1
  ) || failed="$failed $target"
done
[ -z "$failed" ] || { echo "found something in:$failed" >&2; exit 1; }
