#!/usr/bin/env bash
# What the tests use besides Python: a real browser, node, and a C compiler. Installed where we may, else named.
set -euo pipefail

missing=()
command -v chromium >/dev/null || missing+=(chromium)
command -v node >/dev/null || missing+=(nodejs)
command -v gcc >/dev/null || missing+=(gcc)
[ ${#missing[@]} -eq 0 ] && exit 0

if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    echo "installing for the tests: ${missing[*]}"
    log=$(mktemp)
    if ! { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "These packages could not be installed: ${missing[*]}" >&2
        exit 1
    fi
    rm -f "$log"
    exit 0
fi
echo "The tests need: ${missing[*]}. On Debian or Ubuntu type:" >&2
echo "    sudo apt-get install -y ${missing[*]}" >&2
exit 1
