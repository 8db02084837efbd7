#!/bin/sh
# Three hosts on one Linux machine, to try a cluster with: network namespaces with addresses of their own on a bridge.
# Needs root and iproute2. `three-hosts.sh up` makes them and prints the file for palais cluster run --hosts;
# `three-hosts.sh down` removes them.
set -eu
names="one two three"

case "${1-}" in
up)
    ip link add palais0 type bridge
    ip link set palais0 up
    number=0
    echo "workers = 1"
    for name in $names; do
        number=$((number + 1))
        ip netns add "palais-$name"
        ip link add "palais$number" type veth peer name eth0 netns "palais-$name"
        ip link set "palais$number" master palais0 up
        ip -n "palais-$name" addr add "10.78.0.$number/24" dev eth0
        ip -n "palais-$name" link set eth0 up
        ip -n "palais-$name" link set lo up
        printf '\n[[host]]\nname = "%s"\naddress = "10.78.0.%s"\n' "$name" "$number"
        printf 'launch = ["ip", "netns", "exec", "palais-%s"]\n' "$name"
    done
    ;;
down)
    for name in $names; do
        ip netns del "palais-$name" || true
    done
    ip link del palais0
    ;;
*)
    echo "usage: three-hosts.sh up > hosts.toml, or three-hosts.sh down" >&2
    exit 2
    ;;
esac
