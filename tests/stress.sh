#!/usr/bin/env bash
# Runs the tests again and again while all processors are busy, and as root on a slow disk: what passes or fails with the
# machine shows here.
#
# usage: tests/stress.sh [RUNS] [arguments of cargo test]
#    tests/stress.sh 10                                 all tests, ten times
#    tests/stress.sh 10 --test nodes --test cluster     those of two files
#
# SIDE=5 runs so many side by side, each with a disk of its own; MEGABYTES=8 is what a disk takes a second. The output of
# runs that fail is in target/stress.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-10}
shift || true
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(--workspace)
side=${SIDE:-1} bytes=$((${MEGABYTES:-8} << 20))
blkio=/sys/fs/cgroup/blkio
logs=target/stress
rm -rf "$logs" && mkdir -p "$logs"
# A run whose log is left has failed, or did not begin.
for run in $(seq "$runs"); do : > "$logs/run-$run.log"; done

busy=()
stop_busy() { [ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null || true; }
trap stop_busy EXIT

# A file system in a file, each write of which waits for the disk, and a bound on that disk's bytes a second.
slow_disk() {
  image=$(mktemp) && truncate -s 8G "$image" && mkfs.ext4 -q -F "$image"
  disk=$(losetup --find --show "$image")
  mounted=$(mktemp -d) && mount -o sync "$disk" "$mounted" && chmod 1777 "$mounted"
  local device
  device=$(stat -c '%Hr:%Lr' "$disk")
  group=$blkio/palais-stress-$BASHPID && mkdir -p "$group"
  echo "$device $bytes" > "$group/blkio.throttle.write_bps_device"
  echo "$device $bytes" > "$group/blkio.throttle.read_bps_device"
  echo "$BASHPID" > "$group/tasks"
  export TMPDIR=$mounted
}

remove_disk() {
  [ -z "$group" ] || { echo "$BASHPID" > "$blkio/tasks"; rmdir "$group" 2>/dev/null || true; }
  [ -z "$mounted" ] || umount -l "$mounted"
  [ -z "$disk" ] || losetup -d "$disk"
  [ -z "$image" ] || rm -f "$image"
  [ -z "$mounted" ] || rmdir "$mounted"
}

# A run of the tests, in a process of its own.
run_tests() (
  disk='' image='' mounted='' group=''
  trap remove_disk EXIT
  [ "$slow" = no ] || slow_disk
  log=$logs/run-$1.log
  if cargo test --locked --release "${tests[@]}" --no-fail-fast > "$log" 2>&1; then
    echo "run $1 of $runs: passed"
    rm "$log"
  else
    echo "run $1 of $runs: FAILED, see $log"
    grep -E '^test .* FAILED$' "$log" | sed 's/^/   /' || true
  fi
)

cargo test --locked --release "${tests[@]}" --no-run
if [ "$(id -u)" = 0 ] && [ -d "$blkio" ]; then
  slow=yes
  echo "files of the tests lie on a disk of ${MEGABYTES:-8} MB a second"
else
  slow=no
  echo "without a slow disk: that takes root and the blkio controller of cgroups"
fi
for _ in $(seq "$(nproc)"); do
  (while :; do :; done) &
  busy+=($!)
done

lanes=()
for lane in $(seq "$side"); do
  (for run in $(seq "$lane" "$side" "$runs"); do run_tests "$run"; done) &
  lanes+=($!)
done
wait "${lanes[@]}" || true
failed=$(find "$logs" -name 'run-*.log' | wc -l)
echo "$failed of $runs runs failed"
exit $((failed > 0))
