"""Standing grants: a yes that outlives its question, stated as a pattern, with an end, for one person and one agent.

A grant covers only what the pattern says. The arguments it does not speak of must be those of the call it was given for.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import field
from fnmatch import translate
from re import compile as compile_pattern
from types import MappingProxyType

from ostiary.contracts.errors import BadInput
from ostiary.contracts.policy import Action
from ostiary.contracts.records import dataclass
from ostiary.core.policy.commands import EXACT, runs_what_it_finds
from ostiary.core.policy.commands import matches as command_matches
from ostiary.core.policy.commands import offers as command_offers
from ostiary.core.policy.effects import wants_network

GRANTABLE = frozenset({"confirm", "switch"})
"""The layers whose question a standing grant may answer; what taint or a plugin asks is asked each time."""

EXACTLY = "exactly this"
_WILD = re.compile(r"[*?\[]")
_LITERAL = re.compile(r"\[([*?\[])\]")
_HOST = re.compile(r"https?://[^/@]+/")
_MAX_PATTERN = 600
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Which argument of a tool a pattern speaks of, and which others may be anything."""

    argument: str
    free: frozenset[str]


_SUBJECTS: Mapping[str, Subject] = {
    "exec": Subject(argument="command", free=frozenset({"timeout", "background"})),
    "write": Subject(argument="path", free=frozenset({"content"})),
    "edit": Subject(argument="path", free=frozenset({"old", "new", "all"})),
    "message": Subject(argument="to", free=frozenset({"text"})),
    "browser": Subject(argument="url", free=frozenset()),
}
SUBJECTS: Mapping[str, Subject] = {**_SUBJECTS, **{f"vault_{name}": _SUBJECTS[name] for name in ("exec", "write", "edit")}}
_COMMANDS = ("exec", "vault_exec")
_WRITES = ("write", "edit", "vault_write", "vault_edit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """`fixed` holds, as JSON, the arguments that must be the same; `until` is UTC seconds. `principal` may use it.

    `bound` is what a command's fence was and, if it is stated exactly, what it names: a script that is another by now was
    never allowed, nor was anything outside of the fence that people were shown."""

    id: str
    tool: str
    pattern: str
    fixed: Mapping[str, str]
    agent: str
    principal: str
    until: float
    by: str
    given_at: float
    bound: Mapping[str, str] = field(default_factory=dict)

    def holds(self, bound: Mapping[str, str]) -> bool:
        """Whether a call that it covers is still bound to what this was given for."""
        return _kept(self.tool, self.pattern, bound) == self.bound

    def covers(self, action: Action, now: float) -> bool:
        if now >= self.until or action.tool.name != self.tool or action.session.agent != self.agent:
            return False
        if str(action.principal.user) != self.principal:
            return False
        return _fixed(self.tool, action.arguments, self.pattern) == self.fixed and _matches(
            self.tool, self.pattern, action.arguments
        )

    def packed(self) -> bytes:
        return json.dumps({name: getattr(self, name) for name in _FIELDS}).encode()

    @classmethod
    def unpack(cls, packed: bytes) -> "Grant":
        """Raises ValueError for what `packed` never made."""
        read = json.loads(packed)
        if not isinstance(read, dict) or set(read) != set(_FIELDS):
            raise ValueError("not a grant")
        kinds = {**dict.fromkeys(("fixed", "bound"), dict), **dict.fromkeys(("until", "given_at"), int | float)}
        if not all(isinstance(read[name], kind) for name, kind in kinds.items()):
            raise ValueError("not a grant")
        return cls(**read)


_FIELDS = ("id", "tool", "pattern", "fixed", "agent", "principal", "until", "by", "given_at", "bound")


def _kept(tool: str, pattern: str, bound: Mapping[str, str]) -> dict[str, str]:
    """What a grant holds fast of what a single yes is bound to; the folder it runs in is one of its fixed arguments."""
    if tool not in _COMMANDS:
        return {}
    # An open pattern is for whatever the files are, and says so; what is stated word by word is for those that are there.
    held = not _is_open(pattern)
    return {name: value for name, value in bound.items() if name in ("env", "fence") or (held and _is_content(name))}


def _is_open(pattern: str) -> bool:
    return pattern.endswith("*") and not pattern.startswith(EXACT)


def _is_content(name: str) -> bool:
    return name == "files" or name.startswith(("file:", "folder:"))


def offers_for(tool: str, arguments: Mapping[str, object]) -> tuple[str, ...]:
    """Patterns a person may choose for a wider yes, the narrowest first."""
    subject = SUBJECTS.get(tool)
    value = arguments.get(subject.argument) if subject is not None else None
    if not isinstance(value, str) or not value:
        return (EXACTLY,)
    if tool in _COMMANDS:
        patterns = command_offers(value) or (EXACTLY,)
        return patterns[:1] if wants_network(arguments) else patterns
    folder = value.rpartition("/")[0] if tool in _WRITES else ""
    return (_literal(value), *((f"{_literal(folder)}/*",) if folder else ()))


def stated(tool: str, pattern: str) -> str:
    """A pattern as people read it before they say yes: never narrower than it is."""
    is_wider = tool in _COMMANDS and pattern != EXACTLY and runs_what_it_finds(pattern)
    return f"{pattern} (and any code that files there make it run)" if is_wider else pattern


def grant_for(
    action: Action, pattern: str, *, id: str, until: float, by: str, now: float, bound: Mapping[str, str] = _NOTHING
) -> Grant:
    """Raises BadInput for a pattern that does not cover the very call it is given with, or is too wide to mean anything."""
    tool = action.tool.name
    if len(pattern) > _MAX_PATTERN:
        raise BadInput(f"the pattern has {len(pattern)} characters; at most {_MAX_PATTERN} are taken")
    if pattern != EXACTLY and tool not in SUBJECTS:
        raise BadInput(f"{tool} can only be granted as {EXACTLY!r}")
    if pattern != EXACTLY and _is_boundless(tool, pattern):
        raise BadInput(f"{pattern!r} would cover everything", hint="Name what it is about, for example: git status*")
    if tool in _COMMANDS and _is_open(pattern) and wants_network(action.arguments):
        # An open pattern does not hold fast what the program finds and runs; the network would be its to use.
        raise BadInput("a command with the network is granted word by word", hint="Choose one of the patterns that are offered.")
    made = Grant(
        id=id,
        tool=tool,
        pattern=pattern,
        fixed=_fixed(tool, action.arguments, pattern),
        agent=action.session.agent,
        principal=str(action.principal.user),
        until=until,
        by=by,
        given_at=now,
        bound=_kept(tool, pattern, bound),
    )
    if not made.covers(action, now):
        raise BadInput(f"the pattern {pattern!r} does not cover this call", hint="Choose one of the patterns that are offered.")
    return made


def _matches(tool: str, pattern: str, arguments: Mapping[str, object]) -> bool:
    if pattern == EXACTLY:
        return True
    value = arguments.get(SUBJECTS[tool].argument) if tool in SUBJECTS else None
    if not isinstance(value, str):
        return False
    if tool in _COMMANDS:
        return command_matches(pattern, value)
    if ".." in value or "%2e" in value.lower() or "\\" in value:
        # It would lead out of what the pattern names.
        return False
    # A star stands for one name, never for a folder and what is in it.
    wanted, given = pattern.split("/"), value.split("/")
    return len(wanted) == len(given) and all(
        compile_pattern(translate(each)).match(name) is not None for each, name in zip(wanted, given, strict=True)
    )


def _is_boundless(tool: str, pattern: str) -> bool:
    """Whether it does not say what it is about: its beginning must, up to the host of an address."""
    if tool in _COMMANDS:
        return not pattern.strip(" */.")
    beginning = _WILD.split(_LITERAL.sub(r"\1", pattern), maxsplit=1)[0] if _WILD.search(_LITERAL.sub("_", pattern)) else pattern
    if tool == "browser" and beginning != pattern:
        return _HOST.match(beginning) is None
    return not any(sign.isalnum() for sign in beginning)


def _fixed(tool: str, arguments: Mapping[str, object], pattern: str) -> Mapping[str, str]:
    subject = SUBJECTS.get(tool)
    loose = frozenset[str]() if subject is None or pattern == EXACTLY else subject.free | {subject.argument}
    return {name: json.dumps(value, sort_keys=True, default=str) for name, value in arguments.items() if name not in loose}


def _literal(text: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in text)
