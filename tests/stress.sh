#!/usr/bin/env bash
# Runs the tests again and again while all processors are busy, and as root on a slow disk: what passes or fails with the
# machine shows here.
#
# usage: tests/stress.sh [RUNS] [arguments of cargo test]
#    tests/stress.sh 10                                 all tests, ten times
#    tests/stress.sh 10 --test nodes --test cluster     those of two files
#
# MEGABYTES=8 is what the disk takes a second. The output of runs that fail is in target/stress.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-10}
shift || true
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=(--workspace)
logs=target/stress
mkdir -p "$logs"

busy=() disk='' image='' mounted='' group=''
leave() {
  [ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null || true
  [ -z "$group" ] || { echo $$ > "$(dirname "$group")/tasks"; rmdir "$group" 2>/dev/null || true; }
  [ -z "$mounted" ] || umount -l "$mounted"
  [ -z "$disk" ] || losetup -d "$disk"
  [ -z "$image" ] || rm -f "$image"
  [ -z "$mounted" ] || rmdir "$mounted"
}
trap leave EXIT

# A file system in a file, each write of which waits for the disk, and a bound on that disk's bytes a second.
slow_disk() {
  local blkio=/sys/fs/cgroup/blkio bytes=$((${MEGABYTES:-8} << 20)) device
  image=$(mktemp) && truncate -s 8G "$image" && mkfs.ext4 -q -F "$image"
  disk=$(losetup --find --show "$image")
  mounted=$(mktemp -d) && mount -o sync "$disk" "$mounted" && chmod 1777 "$mounted"
  device=$(stat -c '%Hr:%Lr' "$disk")
  group=$blkio/palais-stress && mkdir -p "$group"
  echo "$device $bytes" > "$group/blkio.throttle.write_bps_device"
  echo "$device $bytes" > "$group/blkio.throttle.read_bps_device"
  echo $$ > "$group/tasks"
  export TMPDIR=$mounted
}

cargo test --locked --release "${tests[@]}" --no-run
if [ "$(id -u)" = 0 ] && [ -d /sys/fs/cgroup/blkio ]; then
  slow_disk
  echo "files of the tests lie on a disk of ${MEGABYTES:-8} MB a second"
else
  echo "without a slow disk: that takes root and the blkio controller of cgroups"
fi
for _ in $(seq $(($(nproc) * 2))); do
  (while :; do :; done) &
  busy+=($!)
done

failed=0
for run in $(seq "$runs"); do
  log=$logs/run-$run.log
  if cargo test --locked --release "${tests[@]}" --no-fail-fast > "$log" 2>&1; then
    echo "run $run of $runs: passed"
    rm "$log"
  else
    failed=$((failed + 1))
    echo "run $run of $runs: FAILED, see $log"
    grep -E '^test .* FAILED$' "$log" | sed 's/^/   /' || true
  fi
done
echo "$failed of $runs runs failed"
exit $((failed > 0))
