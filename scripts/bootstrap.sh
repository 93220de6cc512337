#!/bin/sh
# Make .venv and install a lock file into it. Usage: scripts/bootstrap.sh requirements/run.lock
# Set PYTHON to choose the interpreter. Every file installed is checked against the lock's hashes.
set -eu
cd "$(dirname "$0")/.."
lock=$1
venv=.venv

say() { printf '%s\n' "$*"; }
stop() { printf '\n%s\n' "$@" >&2; exit 1; }
recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if recent "$candidate"; then python=$candidate; return; fi
    done
    found=$(${PYTHON:-python3} --version 2>&1 || true)
    stop "Ostiary needs Python 3.11 or newer; found: ${found:-none}." \
        "Debian, Ubuntu:  apt-get install python3 python3-venv" \
        "Fedora:          dnf install python3" \
        "macOS:           brew install python" \
        "Then run make again, or name an interpreter:  make PYTHON=/path/to/python3.12 run"
}

if ! recent "$venv/bin/python" || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    find_python
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        stop "This Python $version cannot make virtual environments." \
            "Debian, Ubuntu:  apt-get install python3-venv        (or python$version-venv)" \
            "Then run make again."
    fi
    say "Making $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
fi

# One line that counts instead of a screenful; whatever else pip says, a warning or an error, is shown as it is.
count='
    /^Collecting / { printf "\r  fetched %d", ++n; fflush(); next }
    /^Installing collected/ { printf "\r  fetched %d, installing ...", n; fflush(); next }
    /^(  Downloading|  Using cached|  Preparing|Ignoring|Requirement already|Successfully|Looking in)/ { next }
    NF { print }
    END { if (n) print "" }'
install() { "$venv/bin/python" -m pip install --progress-bar off --require-hashes --requirement "$lock" 2>&1; }

say "Installing $(grep -c '==' "$lock") locked packages from $lock (half a minute to two minutes)"
export PIP_DISABLE_PIP_VERSION_CHECK=1
status=$({ { install && echo 0 >&3 || echo 1 >&3; } | awk "$count" >&2; } 3>&1)
[ "$status" = 0 ] &&
    "$venv/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable . ||
    stop "The packages could not be installed; the lines above say why." \
        "No network? pip needs to reach a package index once. Behind a proxy, set HTTPS_PROXY."
say "Ready."
