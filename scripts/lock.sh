#!/usr/bin/env bash
# Resolve every dependency once, for all platforms and Python versions, with the hash of every file that may be installed.
# Usage: make lock          keep the pins that still fit
#        make lock UP=1     move every pin to its newest release
set -euo pipefail
cd "$(dirname "$0")/.."
tools=build/lock-venv
[ -x "$tools/bin/uv" ] || { "${PYTHON:-python3}" -m venv "$tools" && "$tools/bin/pip" install --quiet uv; }

compile() { # compile <output> <more options>
    local output=$1
    shift
    "$tools/bin/uv" pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --quiet --no-annotate \
        --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --output-file "$output" ${UP:+--upgrade} "$@" >/dev/null
    echo "$output: $(grep -c '==' "$output") packages"
}

# dev first: the smaller sets take their pins from it, so one environment can hold all of them.
compile requirements/dev.lock --extra embedded --extra memory --extra web --group dev
compile requirements/run.lock --extra embedded --extra memory --extra web --extra browser --group build --constraints requirements/dev.lock
compile requirements/base.lock --constraints requirements/dev.lock
compile requirements/providers.lock --extra providers --constraints requirements/dev.lock
