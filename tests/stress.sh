#!/usr/bin/env bash
# Runs the tests again and again while all processors are busy, and as root on a slow disk: what passes or fails with the
# machine shows here.
#
# usage: tests/stress.sh [RUNS] [TEST…]
#    tests/stress.sh 10                  all tests, ten times
#    tests/stress.sh 10 nodes cluster    those of two files
#
# SIDE=5 runs so many side by side, each with a disk of its own; MEGABYTES=8 is what a disk takes a second. The output of
# run 3 of tests/nodes.rs is in target/stress/3/nodes.log, and nodes.passed beside it says that it passed. A script that is
# ended and begun again on the same commit leaves out what has passed.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-10}
shift || true
side=${SIDE:-1} bytes=$((${MEGABYTES:-8} << 20))
blkio=/sys/fs/cgroup/blkio
logs=$PWD/target/stress
slow=no
[ "$(id -u)" != 0 ] || [ ! -d "$blkio" ] || slow=yes
# What has passed counts for the same commit on the same kind of disk.
commit="$(git describe --always --abbrev=40 --dirty), slow: $slow, $bytes bytes a second"
case $commit in
  *-dirty*) rm -rf "$logs" ;;
  *) [ "$(cat "$logs/commit" 2>/dev/null)" = "$commit" ] || rm -rf "$logs" ;;
esac
mkdir -p "$logs" && echo "$commit" > "$logs/commit"

busy=() lanes=()
# Each lane is a group of processes, so that its programs end with it, and its disk is removed.
stop_all() {
  [ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null || true
  for lane in "${lanes[@]}"; do kill -- "-$lane" 2>/dev/null || true; done
  wait 2>/dev/null || true
}
trap stop_all EXIT
trap 'exit 130' INT TERM

# A file system in a file, each write of which waits for the disk, and a bound on that disk's bytes a second.
# It is called where `set -e` has no effect: each step needs the one before.
slow_disk() {
  local device
  image=$(mktemp) && truncate -s 8G "$image" && mkfs.ext4 -q -F "$image" &&
    disk=$(losetup --find --show "$image") &&
    mounted=$(mktemp -d) && mount -o sync "$disk" "$mounted" && chmod 1777 "$mounted" &&
    device=$(stat -c '%Hr:%Lr' "$disk") &&
    group=$blkio/palais-stress-$BASHPID && mkdir -p "$group" &&
    echo "$device $bytes" > "$group/blkio.throttle.write_bps_device" &&
    echo "$device $bytes" > "$group/blkio.throttle.read_bps_device" &&
    echo "$BASHPID" > "$group/tasks" &&
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
  trap 'exit 130' INT TERM
  [ "$slow" = no ] || slow_disk || { echo "run $1 of $runs: there is no slow disk"; exit 1; }
  failed=0
  mkdir -p "$logs/$1"
  while IFS=$'\t' read -r name place program; do
    log=$logs/$1/$name
    [ ! -e "$log.passed" ] || continue
    if (cd "$place" && CARGO_MANIFEST_DIR=$place "$program") > "$log.log" 2>&1 < /dev/null; then
      : > "$log.passed"
    else
      failed=1
      echo "run $1 of $runs: $name FAILED, see $log.log"
      grep -E '^test .* FAILED$' "$log.log" | sed 's/^/   /' || true
    fi
  done <<< "$programs"
  [ $failed = 1 ] || echo "run $1 of $runs: passed"
  exit $failed
)

programs=$(python3 tests/programs.py "$@")
[ -n "$programs" ] || { echo "no test of these names: $*"; exit 1; }
if [ "$slow" = yes ]; then
  echo "files of the tests lie on a disk of ${MEGABYTES:-8} MB a second"
else
  echo "without a slow disk: that takes root and the blkio controller of cgroups"
fi
for _ in $(seq "$(nproc)"); do
  (while :; do :; done) &
  busy+=($!)
done

set -m
for lane in $(seq "$side"); do
  (
    failed=0
    for run in $(seq "$lane" "$side" "$runs"); do run_tests "$run" || failed=$((failed + 1)); done
    exit $failed
  ) &
  lanes+=($!)
done
set +m
failed=0
for lane in "${lanes[@]}"; do wait "$lane" || failed=$((failed + $?)); done
echo "$failed of $runs runs failed"
exit $((failed > 0))
