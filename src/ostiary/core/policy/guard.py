"""The layer that looks at what a call names: protected files, commands that show secrets, the owner's own files."""

import re
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import unquote

from ostiary.contracts.policy import Action, Decision, Deny
from ostiary.contracts.tool import Effect
from ostiary.core.policy.judge import Layer
from ostiary.core.policy.protected import protected_glob, protected_path
from ostiary.core.policy.secret_commands import secret_command
from ostiary.core.policy.secrets import KNOWN_MARK

NAME = "guard"

# As they are without case, dashes and underscores.
_PATHS = frozenset(
    {"path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths", "cwd", "dir", "directory", "folder"}
    | {"source", "src", "destination", "dest", "target", "oldpath", "newpath", "frompath", "topath", "root", "uri"}
)
_GLOBS = frozenset({"glob", "include", "pattern"})
_COMMANDS = frozenset({"command", "cmd", "script", "data", "input", "code"})
_PATCHES = frozenset({"patch", "diff"})
_FOLDERS = frozenset({"ls", "find", "grep"})
_IN_PATCH = re.compile(
    r"^(?:\*\*\* (?:Add File|Update File|Delete File|Move to): |(?:---|\+\+\+) (?:[ab]/)?|rename (?:from|to) |copy (?:from|to) )"
    r"([^\t\n]+)",
    re.MULTILINE,
)
_DEEPEST = 8


def guard_layer(*, state: Collection[str] = (), owner_files: Collection[str] = ()) -> Layer:
    """Denies a call that names a protected path or a command that shows secrets, one that a secret of the house was taken out
    of or that would put its mark in the secret's place, and writing one of `owner_files`, which are relative paths. `state` are
    the gateway's own folders. A client's tool acts on the client's machine and is not judged. Arguments too deep to be looked
    at make it raise."""
    folders = tuple(state)
    kept = frozenset(name.casefold() for name in owner_files)

    def guard(action: Action) -> Decision | None:
        if action.tool.is_client:
            return None
        is_folder = action.tool.name in _FOLDERS
        writes = Effect.WRITE in action.tool.effects_of(action.arguments)
        for kind, value in _named("", action.arguments, 0):
            reason = _judged(kind, value, folders, is_folder)
            if not reason and writes and kind == "path" and _plain(value) in kept:
                reason = f"{value} is one of the owner's own files: only the owner changes it"
            if reason:
                return Deny(layer=NAME, reason=reason)
        return None

    return guard


def _judged(kind: str, value: str, state: tuple[str, ...], is_folder: bool) -> str:
    if kind == "mark":
        return f"{KNOWN_MARK} stands for a secret that the house keeps: no tool is given it, and no file"
    if kind == "command":
        return secret_command(value, state=state)
    if kind == "glob":
        return protected_glob(value)
    return protected_path(_local(value) if _is_file_url(value) else value, state=state, is_folder=is_folder)


def _named(name: str, value: object, depth: int) -> Iterator[tuple[str, str]]:
    """Every text among the arguments that names a file or is a command, however deep in lists and objects.
    Raises ValueError."""
    if depth > _DEEPEST:
        raise ValueError("arguments nested too deep")
    if isinstance(value, str):
        yield from _kinds(name.casefold().replace("-", "").replace("_", ""), value)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _named(str(key), each, depth + 1)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _named(name, each, depth + 1)


def _kinds(name: str, text: str) -> Iterator[tuple[str, str]]:
    if KNOWN_MARK in text:
        yield "mark", text
    if name in _PATHS or _is_file_url(text):
        yield "path", text
    elif name in _COMMANDS:
        yield "command", text
    elif name in _GLOBS:
        yield "glob", text
    elif name in _PATCHES:
        yield from (("path", found.strip()) for found in _IN_PATCH.findall(text))


def _is_file_url(text: str) -> bool:
    return text.lstrip().casefold().startswith("file:")


def _local(url: str) -> str:
    """The path that a file's URL means, however it is spelt."""
    rest = url.lstrip()[len("file:") :]
    return unquote(f"/{rest[2:].partition('/')[2]}" if rest.startswith("//") else rest)


def _plain(path: str) -> str:
    """A path under the workspace in its one spelling; what leads out of it is the workspace's own."""
    steps: list[str] = []
    for step in path.replace("\\", "/").casefold().split("/"):
        if step == "..":
            steps = steps[:-1]
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)
