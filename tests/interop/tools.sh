#!/bin/sh
# Installs the tools of other formats that the tests compare with, where they are missing: Cap'n Proto's capnp and
# Protocol Buffers' protoc, from Debian's or Ubuntu's packages.
set -eu
packages=
command -v capnp >/dev/null || packages="$packages capnproto"
command -v protoc >/dev/null || packages="$packages protobuf-compiler"
[ -n "$packages" ] || exit 0
echo "Tools that the tests compare with are missing: installing$packages" >&2
if [ "$(id -u)" = 0 ]; then sudo=; else sudo="sudo -n"; fi
# $packages is a list.
if ! { $sudo apt-get update -qq && $sudo apt-get install -y -qq $packages; } >&2; then
    echo "That failed: install the packages$packages yourself, then run make again" >&2
    exit 1
fi
