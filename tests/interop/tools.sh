#!/bin/sh
# Installs the tools that the tests use, where they are missing, from Debian's or Ubuntu's packages: of other formats Cap'n
# Proto's capnp and Protocol Buffers' protoc; for hosts of their own ip, ssh and sshd.
set -eu
packages=
command -v capnp >/dev/null || packages="$packages capnproto"
command -v protoc >/dev/null || packages="$packages protobuf-compiler"
command -v ip >/dev/null || packages="$packages iproute2"
command -v ssh >/dev/null || packages="$packages openssh-client"
[ -x /usr/sbin/sshd ] || packages="$packages openssh-server"
[ -n "$packages" ] || exit 0
echo "Tools that the tests use are missing: installing$packages" >&2
if [ "$(id -u)" = 0 ]; then sudo=; else sudo="sudo -n"; fi
# $packages is a list.
if ! { $sudo apt-get update -qq && $sudo apt-get install -y -qq $packages; } >&2; then
    echo "That failed: install the packages$packages yourself, then run make again" >&2
    exit 1
fi
