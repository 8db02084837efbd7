#!/bin/sh
# Certificates for the hosts of a cluster, by openssl: certificates.sh DIRECTORY [NAME [ADDRESS…]]
#
# DIRECTORY gets authority.pem and authority.key, which are made if they are not there, and a certificate and a key,
# NAME.pem and NAME.key, for the name NAME (palais if not given) and the addresses or names behind it. Either all hosts
# have the same certificate, and `name = "palais"` in [tls] says so, or each has one for its own address:
#   certificates.sh certificates                      # palais.pem and palais.key, for all
#   certificates.sh certificates one 10.0.0.1         # one.pem and one.key, for a host that is one or 10.0.0.1
# Whoever has authority.key can make more: it stays off the hosts.
set -eu
umask 077
directory=${1:?a directory is missing: certificates.sh DIRECTORY [NAME [ADDRESS...]]}
shift
name=${1:-palais}
[ $# -eq 0 ] || shift
days=${DAYS:-3650}
mkdir -p "$directory"
cd "$directory"

key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1"; }

if [ ! -e authority.pem ]; then
  key authority.key
  openssl req -x509 -new -key authority.key -subj "/CN=palais authority" -days "$days" -out authority.pem \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
fi
names="DNS:$name"
for address; do
  case $address in
    *:*) names="$names,IP:$address" ;;
    *[!0-9.]*) names="$names,DNS:$address" ;;
    *) names="$names,IP:$address" ;;
  esac
done
request=$(mktemp)
trap 'rm -f "$request" "$request.ext"' EXIT
key "$name.key"
openssl req -new -key "$name.key" -subj "/CN=$name" -out "$request"
printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n' "$names" > "$request.ext"
openssl x509 -req -in "$request" -CA authority.pem -CAkey authority.key -days "$days" -extfile "$request.ext" \
  -out "$name.pem"
chmod 644 authority.pem "$name.pem"
