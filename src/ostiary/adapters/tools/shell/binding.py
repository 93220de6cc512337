"""What an approval of a command is bound to besides its text: where it runs, with what, and on which files."""

import hashlib
import json
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence

from ostiary.adapters.tools.files import File
from ostiary.contracts.programs import PLAIN

_SPLIT = re.compile(r"[\s;|&<>()'\"`$={},:\\]+")
_MOST_NAMED = 64
# Where a command may begin; inside of quotes, too, which is only stricter.
_BEGINNINGS = re.compile(r"[;|&(){}`\n]")


def digest_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def named(command: str, cwd: str, files: Sequence[File], *, mount: str) -> Mapping[str, str]:
    """By name (`file:<path>`, `folder:<path>`) the digests of what the command's words name in the workspace."""
    by_path = {file.path: file.version.digest for file in files}
    found: dict[str, str] = {}
    words = [word for word in _SPLIT.split(command) if word]
    for word in dict.fromkeys(words):
        for path in _paths(word, cwd, mount):
            if path in by_path:
                found[f"file:{path}"] = by_path[path]
            elif word not in (".", "..") and any(other.startswith(f"{path}/") for other in by_path):
                found[f"folder:{path}"] = _folder(path, by_path)
    if _runs_what_it_finds(command) or len(found) > _MOST_NAMED or "." in words or "*" in command or "?" in command:
        found[f"folder:{cwd or '.'}"] = _folder(cwd, by_path)
    return dict(sorted(found.items())[:_MOST_NAMED]) | {"files": digest_of(sorted(found.items()))}


def _runs_what_it_finds(command: str) -> bool:
    """Whether a program among them may run code that lies around it: then everything in the folder counts as named."""
    firsts = (part.split(None, 1)[0] for part in _BEGINNINGS.split(command) if part.strip())
    return not all(first in PLAIN for first in firsts)


def _paths(word: str, cwd: str, mount: str) -> Iterable[str]:
    """What a word may stand for: a path, or a Python module."""
    if word.startswith(f"{mount}/"):
        yield posixpath.normpath(word.removeprefix(f"{mount}/"))
        return
    if word.startswith("/"):
        return
    yield posixpath.normpath(posixpath.join(cwd, word))
    if re.fullmatch(r"\w+(\.\w+)*", word):
        module = posixpath.join(cwd, word.replace(".", "/"))
        yield f"{module}.py"
        yield module


def _folder(folder: str, by_path: Mapping[str, str]) -> str:
    prefix = f"{folder}/" if folder else ""
    return digest_of(sorted((path, digest) for path, digest in by_path.items() if path.startswith(prefix)))
