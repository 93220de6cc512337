"""The layer that looks at what a call names: protected files, commands that show secrets, the owner's own files."""

import re
from collections.abc import Collection, Iterator, Mapping

from ostiary.contracts.policy import Action, Decision, Deny
from ostiary.contracts.tool import Effect
from ostiary.core.policy.judge import Layer
from ostiary.core.policy.protected import protected_glob, protected_path
from ostiary.core.policy.secret_commands import secret_command

NAME = "guard"

_PATHS = frozenset(
    {"path", "paths", "file", "files", "filename", "filenames", "file_path", "filepath", "cwd", "dir", "directory", "folder"}
    | {"source", "src", "destination", "dest", "target", "old_path", "new_path", "from_path", "to_path", "root", "uri"}
)
_GLOBS = frozenset({"glob", "include", "pattern"})
_COMMANDS = frozenset({"command", "cmd", "script", "data", "input", "code"})
_FOLDERS = frozenset({"ls", "find", "grep"})
_IN_PATCH = re.compile(
    r"^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): |(?:---|\+\+\+) (?:[ab]/)?|rename (?:from|to) |copy (?:from|to) )"
    r"([^\t\n]+)",
    re.MULTILINE,
)
_DEEPEST = 4


def guard_layer(*, state: Collection[str] = (), owner_files: Collection[str] = ()) -> Layer:
    """Denies a call that names a protected path or a command that shows secrets, and writing one of `owner_files`, which
    are relative paths. `state` are the gateway's own folders. A client's tool acts on the client's machine and is not judged."""
    folders = tuple(state)
    kept = frozenset(name.casefold() for name in owner_files)

    def guard(action: Action) -> Decision | None:
        if action.tool.is_client:
            return None
        is_folder = action.tool.name in _FOLDERS
        writes = Effect.WRITE in action.tool.effects_of(action.arguments)
        for kind, value in _named(action.arguments, 0):
            reason = _judged(kind, value, folders, is_folder)
            if not reason and writes and kind == "path" and _plain(value) in kept:
                reason = f"{value} is one of the owner's own files: only the owner changes it"
            if reason:
                return Deny(layer=NAME, reason=reason)
        return None

    return guard


def _judged(kind: str, value: str, state: tuple[str, ...], is_folder: bool) -> str:
    if kind == "command":
        return secret_command(value, state=state)
    if kind == "glob":
        return protected_glob(value)
    return protected_path(value.removeprefix("file://"), state=state, is_folder=is_folder)


def _named(arguments: Mapping[str, object], depth: int) -> Iterator[tuple[str, str]]:
    """Every text among the arguments that names a file or is a command, also inside of lists and objects."""
    for name, value in arguments.items():
        plain = name.casefold().replace("-", "_")
        for text in _texts(value):
            if plain in _PATHS or text.startswith("file://"):
                yield "path", text
            elif plain in _COMMANDS:
                yield "command", text
            elif plain in _GLOBS:
                yield "glob", text
            elif plain in ("patch", "diff"):
                yield from (("path", found.strip()) for found in _IN_PATCH.findall(text))
        for inner in value if isinstance(value, list | tuple) else (value,):
            if isinstance(inner, Mapping) and depth < _DEEPEST:
                yield from _named(inner, depth + 1)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        yield from (each for each in value if isinstance(each, str))


def _plain(path: str) -> str:
    return "/".join(step for step in path.replace("\\", "/").casefold().split("/") if step not in ("", "."))
