"""Take the web app's third-party files out of their npm packages, and record what they are.

python scripts/vendor_ui.py           fetch the versions named below with `npm pack` and write ui/vendor/
python scripts/vendor_ui.py --check   compare the files with the manifest, offline

To update a library: change its version here, run this, read the diff of ui/vendor/, run tests/browser, commit both.
Nothing is built: a file is the package's own, except that the bare import named in `_BARE` becomes a relative one,
because a page under a strict Content-Security-Policy has no import map.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

VENDOR = Path(__file__).resolve().parent.parent / "src/ostiary/gateway/ui/vendor"
MANIFEST = VENDOR / "manifest.json"

_LANGUAGES = (
    *("bash", "c", "cpp", "csharp", "css", "diff", "dockerfile", "go", "ini", "java", "javascript", "json", "kotlin"),
    *("lua", "markdown", "php", "python", "ruby", "rust", "shell", "sql", "typescript", "xml", "yaml"),
)

PACKAGES: Mapping[str, Mapping[str, str]] = {
    "preact@11.2.0": {"preact.js": "dist/preact.mjs", "hooks.js": "hooks/dist/hooks.mjs", "preact.LICENSE": "LICENSE"},
    "htm@3.1.1": {"htm.js": "dist/htm.mjs", "htm.LICENSE": "LICENSE"},
    "marked@18.2.0": {"marked.js": "lib/marked.esm.js", "marked.LICENSE": "LICENSE"},
    "@highlightjs/cdn-assets@11.12.0": {
        "highlight/core.js": "es/core.min.js",
        "highlight.LICENSE": "LICENSE",
        **{f"highlight/{name}.js": f"es/languages/{name}.min.js" for name in _LANGUAGES},
    },
}
_BARE = (b'from"preact"', b'from"./preact.js"')
_MAP = b"\n//# sourceMappingURL="


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        problems = list(differences())
        print("\n".join(problems) or "ui/vendor is what its manifest says")
        return 1 if problems else 0
    VENDOR.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        rows = [row for spec, members in PACKAGES.items() for row in _take(spec, members, Path(scratch))]
    for path in _files():
        if path.relative_to(VENDOR).as_posix() not in {row["file"] for row in rows}:
            path.unlink()
    MANIFEST.write_text(json.dumps({"files": rows}, indent=1) + "\n", encoding="utf-8")
    print(f"{len(rows)} files from {len(PACKAGES)} packages")
    return 0


def differences() -> Iterator[str]:
    """What is on disk and not in the manifest, in the manifest and not on disk, or not the same in both."""
    recorded = {row["file"]: row["sha256"] for row in json.loads(MANIFEST.read_text(encoding="utf-8"))["files"]}
    found = {path.relative_to(VENDOR).as_posix(): _sha256(path.read_bytes()) for path in _files()}
    for name in sorted(recorded.keys() | found.keys()):
        if recorded.get(name) != found.get(name):
            yield f"{name}: recorded {recorded.get(name)}, found {found.get(name)}"


def _take(spec: str, members: Mapping[str, str], scratch: Path) -> Iterator[dict[str, str]]:
    name, _, version = spec.rpartition("@")
    done = subprocess.run(["npm", "pack", "--silent", spec], cwd=scratch, check=True, capture_output=True, text=True)
    archive = scratch / done.stdout.strip().splitlines()[-1]
    with tarfile.open(archive) as package:
        for target, member in members.items():
            content = package.extractfile(f"package/{member}")
            if content is None:
                raise SystemExit(f"{spec} holds no {member}")
            original = content.read()
            kept = original.replace(*_BARE).partition(_MAP)[0].rstrip(b"\n") + b"\n"
            path = VENDOR / target
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(kept)
            yield {
                "file": target,
                "package": name,
                "version": version,
                "member": member,
                "original_sha256": _sha256(original),
                "sha256": _sha256(kept),
            }


def _files() -> list[Path]:
    return sorted(path for path in VENDOR.rglob("*") if path.is_file() and path != MANIFEST)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    raise SystemExit(main())
