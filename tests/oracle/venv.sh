#!/bin/sh
# Makes the virtual environment of the oracle and the benchmark: venv.sh PYTHON DIRECTORY.
# Debian and Ubuntu ship Python without ensurepip: the package python3-venv is then installed.
set -eu
python=$1 venv=$2

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "Python 3.11 or later is needed; \`make PYTHON=…\` names another one" >&2
    exit 1
}
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
    echo "This Python has no ensurepip: installing the package python3-venv" >&2
    if [ "$(id -u)" = 0 ]; then sudo=; else sudo="sudo -n"; fi
    if ! { $sudo apt-get update -qq && $sudo apt-get install -y -qq python3-venv; } >&2; then
        echo "That failed: install the package python3-venv yourself, then run make again" >&2
        exit 1
    fi
fi
rm -rf "$venv"
"$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --requirement tests/requirements.txt
touch "$venv/.ready"
