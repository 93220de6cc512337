"""Which tools a list of names means: exact names, aliases, groups and globs."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import translate

from ostiary.contracts.errors import BadInput

ALIASES: Mapping[str, str] = {"bash": "exec", "apply-patch": "apply_patch"}

GROUPS: Mapping[str, frozenset[str]] = {
    "fs": frozenset({"read", "write", "edit", "apply_patch", "grep", "find", "ls"}),
    "runtime": frozenset({"exec", "process"}),
    "web": frozenset({"web_search", "web_fetch"}),
    "memory": frozenset({"memory_search", "memory_get", "memory_write"}),
    "sessions": frozenset(
        {"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "subagents", "session_status"}
    ),
    "ui": frozenset({"browser", "canvas"}),
    "automation": frozenset({"cron", "gateway"}),
    "messaging": frozenset({"message"}),
    "nodes": frozenset({"nodes"}),
}
_UNGROUPED = frozenset({"image", "pdf", "tts", "stt", "agents_list"})
CORE_TOOLS: frozenset[str] = _UNGROUPED.union(*GROUPS.values())

PROFILES: Mapping[str, tuple[str, ...]] = {
    "minimal": ("session_status",),
    "coding": ("group:fs", "group:runtime", "group:sessions", "group:memory", "image"),
    "messaging": ("group:messaging", "sessions_list", "sessions_history", "sessions_send", "session_status"),
    "full": ("*",),
}

_GLOB_SIGNS = frozenset("*?[")
_REMEMBERED = 4096
_LIKENESS = 0.75
# Tools that are there only in some houses.
_ELSEWHERE = ("vault_", "mcp__", "skill__")


class NameSet:
    """Tool names by exact name, alias, group (`group:fs`) or glob. Raises BadInput for a group nobody knows:
    in a deny list it would silently let through what the owner meant to forbid."""

    __slots__ = ("_exact", "_follows", "_globs", "_known")

    def __init__(self, patterns: Iterable[str], *, plugin_tools: frozenset[str] = frozenset(), follows: bool = False) -> None:
        exact: set[str] = set()
        globs: list[str] = []
        for pattern in patterns:
            name = canonical(pattern)
            if name.startswith("group:"):
                exact |= members(name.removeprefix("group:"), plugin_tools)
            elif _GLOB_SIGNS & set(name):
                globs.append(translate(name))
            elif name:
                exact.add(name)
        self._exact = frozenset(exact)
        self._globs = re.compile("|".join(globs)) if globs else None
        self._follows = follows
        self._known: dict[str, bool] = {}

    def __contains__(self, name: str) -> bool:
        known = self._known.get(name)
        if known is None:
            known = self._decide(canonical(name))
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[name] = known
        return known

    def _decide(self, name: str) -> bool:
        if name in self._exact or (self._globs is not None and self._globs.match(name) is not None):
            return True
        # Whoever may run commands may change files with them, so a patch asks for nothing more.
        return self._follows and name == "apply_patch" and self._decide("exec")


def canonical(name: str) -> str:
    """The one spelling a tool is judged by: lower case, aliases resolved."""
    lowered = name.strip().lower()
    return ALIASES.get(lowered, lowered)


def members(group: str, plugin_tools: frozenset[str]) -> frozenset[str]:
    """The tools of a group. Raises BadInput for one nobody knows."""
    if group in GROUPS:
        return GROUPS[group]
    if group in ("ostiary", "openclaw"):
        return CORE_TOOLS
    if group == "plugins":
        return frozenset(canonical(tool) for tool in plugin_tools)
    known = ", ".join(f"group:{each}" for each in (*GROUPS, "ostiary", "plugins"))
    raise BadInput(f"group:{group} is not a group of tools", hint=f"Known groups: {known}.")


def misspelt(pattern: str, known: Collection[str]) -> str:
    """The tool that a name was probably meant to be; empty if it is one, means several, or is like none: it may belong to
    somebody who has not come yet."""
    name = canonical(pattern)
    if name in known or name.startswith(_ELSEWHERE) or _GLOB_SIGNS & set(name):
        return ""
    return next(iter(get_close_matches(name, sorted({*known, *ALIASES}), n=1, cutoff=_LIKENESS)), "")


def names_plugins_alone(allow: Sequence[str], plugin_tools: frozenset[str]) -> bool:
    """Whether an allow list names plugin tools, each entry at least one of them, and no tool of the house.

    Who adds a plugin's tool to such a list wants that tool besides the others. An entry that nobody knows makes it an
    ordinary list: a misspelt name must not open the rest."""
    return bool(allow) and all(_is_of_plugins(pattern, plugin_tools) for pattern in allow)


def _is_of_plugins(pattern: str, plugin_tools: frozenset[str]) -> bool:
    names = NameSet((pattern,), plugin_tools=plugin_tools)
    return any(tool in names for tool in plugin_tools) and not any(tool in names for tool in CORE_TOOLS)
