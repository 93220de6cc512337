#!/usr/bin/env bash
# Weigh the base installation: no extras, no development tools. The bars: 120 MB and 45 packages.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"${PYTHON:-python3}" -m venv --without-pip "$place/venv"
pip=("${PYTHON:-python3}" -m pip --python "$place/venv/bin/python" --disable-pip-version-check)
"${pip[@]}" install --quiet --require-hashes --requirement requirements/base.lock
"${pip[@]}" install --quiet --no-deps .
packages=$("${pip[@]}" list --format=freeze | wc -l)
megabytes=$(du -sm "$place/venv" | cut -f1)
echo "installed size without extras: $megabytes MB in $packages packages"
[ "$megabytes" -le 120 ] && [ "$packages" -le 45 ]
