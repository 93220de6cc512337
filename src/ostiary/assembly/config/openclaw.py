"""Taking over an OpenClaw configuration: same names where the meaning is the same, and a list of what did not fit."""

import json
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from ostiary.adapters.credentials import Credential, Kind, Secret
from ostiary.assembly.config import edit, json5
from ostiary.assembly.config.files import read_text, unreadable
from ostiary.assembly.config.formats import foreign_format
from ostiary.assembly.config.json5 import Json5Error
from ostiary.assembly.config.literals import credential_name, literal_secrets
from ostiary.assembly.config.load import Examined, examine
from ostiary.assembly.config.migrations import modernise
from ostiary.assembly.config.openclaw_rules import REASONS, settle
from ostiary.assembly.config.problems import Path as KeyPath
from ostiary.assembly.config.problems import Problem, dotted
from ostiary.assembly.config.schema import VERSION
from ostiary.assembly.config.secret import CREDENTIAL, variables
from ostiary.contracts.errors import ConfigInvalid
from ostiary.contracts.records import dataclass

_ROUNDS = 50
_VARIABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]*_(?:KEY|TOKEN|SECRET)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """`text` validates as it is. `left` says what was not taken over and why, one sentence each; `taken` counts values."""

    text: str = field(repr=False)
    credentials: tuple[Credential, ...]
    left: tuple[str, ...]
    notes: tuple[str, ...]
    taken: int


def take_over(path: Path, environ: Mapping[str, str], *, posture: str = "") -> Imported:
    """Read another system's file and make ours of it, writing nothing. Raises ConfigInvalid if it cannot be read at all."""
    text = _readable(path)
    left: list[str] = []
    text, notes = modernise(text)
    text = settle(text, left)
    text = edit.set_value(text, ("version",), VERSION)
    if posture:
        text = edit.set_value(text, ("posture",), posture)
    lenient = _every_variable(text, environ)
    text, examined = _drop_what_does_not_fit(text, path, lenient, left)
    text, credentials = _without_secrets(text, examined)
    profiles = _auth_profiles(path.parent)
    for profile in profiles:
        if edit.find(json5.parse(text), ("auth", "profiles", profile.name)) is None:
            entry = {"provider": profile.provider, "mode": profile.kind}
            text = edit.set_value(text, ("auth", "profiles", profile.name), entry)
    text, examined = _drop_what_does_not_fit(text, path, lenient, left)
    unset = sorted({name for name in variables(text) if name not in environ})
    return Imported(
        text=text,
        credentials=(*credentials, *profiles),
        left=tuple(left),
        notes=(*notes, *(f"the environment variable {name} is referred to, but not set here" for name in unset)),
        taken=_count(examined.tree),
    )


def _readable(path: Path) -> str:
    text = read_text(path)
    if text is None:
        raise unreadable(path, "does not exist", "Name the file, usually ~/.openclaw/openclaw.json.")
    try:
        node = json5.parse(text)
    except Json5Error as error:
        other = foreign_format(text)
        raise unreadable(path, f"looks like {other}, not JSON5" if other else f"is not JSON5: {error}") from error
    if node.kind != "object":
        raise unreadable(path, "does not hold an object")
    return text


def _every_variable(text: str, environ: Mapping[str, str]) -> Mapping[str, str]:
    """A variable that is not set here may be set where the gateway runs: it is no reason to drop a key."""
    return {**dict.fromkeys(variables(text), "https://unset.invalid"), **environ}


def _drop_what_does_not_fit(text: str, path: Path, environ: Mapping[str, str], left: list[str]) -> tuple[str, Examined]:
    for _ in range(_ROUNDS):
        examined = examine(text, environ, source=path)
        if examined.config is not None:
            return text, examined
        gone: set[KeyPath] = set()
        for problem in sorted(examined.problems, key=lambda each: [str(step).zfill(9) for step in each.path], reverse=True):
            target = problem.path[:-1] if problem.message == "is missing" else problem.path
            if any(target[: len(each)] == each for each in gone):
                continue
            gone.add(target)
            text = edit.unset(text, target)
            left.append(_why(problem, target))
    raise ConfigInvalid(f"{path} could not be taken over", hint="Copy the parts you need by hand.")


def _why(problem: Problem, target: KeyPath) -> str:
    generic = tuple("*" if isinstance(step, int) else step for step in target)
    for length in range(len(generic), 0, -1):
        reason = REASONS.get(".".join(generic[:length]))
        if reason:
            return f"{dotted(target)}: {reason}"
    if "is not a known key" in problem.message:
        return f"{dotted(target)}: Ostiary has no such key"
    return f"{dotted(target)}: {problem.message}"


def _without_secrets(text: str, examined: Examined) -> tuple[str, list[Credential]]:
    credentials: list[Credential] = []
    assert examined.config is not None
    for path, secret in literal_secrets(examined.config):
        value = secret.reveal()
        if path[-1] == "apiKey" and _VARIABLE_NAME.fullmatch(value):
            text = edit.set_value(text, path, f"${{{value}}}")
            continue
        name = _free_name(credential_name(path), secret, credentials)
        provider = str(path[2]) if path[:2] == ("models", "providers") else ""
        kind: Kind = "api_key" if str(path[-1]).lower().endswith("key") else "token"
        if all(each.name != name for each in credentials):
            credentials.append(Credential(name=name, kind=kind, provider=provider, value=secret))
        text = edit.set_value(text, path, f"{CREDENTIAL}{name}")
    return text, credentials


def _free_name(base: str, secret: Secret, taken: list[Credential]) -> str:
    by_name = {each.name: each.value for each in taken}
    names = (base if number == 1 else f"{base}-{number}" for number in range(1, 1000))
    return next(name for name in names if name not in by_name or by_name[name] == secret)


def _auth_profiles(folder: Path) -> tuple[Credential, ...]:
    """Keys that OpenClaw keeps beside its configuration; the first agent's profile of a name wins."""
    found: dict[str, Credential] = {}
    for file in sorted(folder.glob("agents/*/agent/auth-profiles.json")):
        try:
            profiles = json.loads(read_text(file) or "{}").get("profiles", {})
            for name, profile in profiles.items():
                credential = _profile(str(name), profile)
                if credential is not None:
                    found.setdefault(credential.name, credential)
        except (ValueError, AttributeError, TypeError, ConfigInvalid):
            continue
    return tuple(found.values())


def _profile(name: str, profile: Mapping[str, object]) -> Credential | None:
    """An OAuth entry's value is the JSON of its access and refresh tokens."""
    provider = str(profile.get("provider", name.partition(":")[0]))
    expires = profile.get("expires", 0)
    seconds = float(expires) / 1000 if isinstance(expires, (int, float)) else 0.0
    match profile:
        case {"type": "api_key", "key": str(value)}:
            return Credential(name=name, kind="api_key", provider=provider, value=Secret(value))
        case {"type": "token", "token": str(value)}:
            return Credential(name=name, kind="token", provider=provider, value=Secret(value), expires=seconds)
        case {"type": "oauth", "access": str(access), "refresh": str(refresh)}:
            value = json.dumps({"access": access, "refresh": refresh})
            return Credential(name=name, kind="oauth", provider=provider, value=Secret(value), expires=seconds)
    return None


def _count(tree: object) -> int:
    if isinstance(tree, Mapping):
        return sum(_count(each) for each in tree.values())
    if isinstance(tree, (list, tuple)):
        return sum(_count(each) for each in tree)
    return 1
