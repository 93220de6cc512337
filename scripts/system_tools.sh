#!/usr/bin/env bash
# Programs besides Python. Usage: scripts/system_tools.sh need|want <program>[=<package>]...
# Installed where we may, else named with what to type; what is only wanted does not stop anything.
set -euo pipefail

how=$1
shift
missing=()
for each in "$@"; do
    command -v "${each%%=*}" >/dev/null || missing+=("${each##*=}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "Installing ${missing[*]}"
    log=$(mktemp)
    if { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        rm -f "$log"
        exit 0
    fi
    tail -n 20 "$log" >&2
    echo "These packages could not be installed: ${missing[*]}" >&2
    [ "$how" = want ] && exit 0
    exit 1
fi
if [ "$how" = want ]; then
    echo "Not installed: ${missing[*]}. Until they are, some tools refuse to work. Type:" >&2
else
    echo "Needed: ${missing[*]}. Type:" >&2
fi
if command -v dnf >/dev/null; then install="dnf install -y"
elif command -v pacman >/dev/null; then install="pacman -S"
elif command -v apk >/dev/null; then install="apk add"
else install="apt-get install -y"; fi
echo "    sudo $install ${missing[*]}" >&2
[ "$how" = want ]
