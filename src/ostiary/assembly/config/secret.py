"""Values that must not be seen: kept as references, resolved at the moment of use, masked everywhere else."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Protocol

from ostiary.adapters.credentials import Secret
from ostiary.contracts.errors import ConfigInvalid
from ostiary.contracts.records import dataclass

MASK = "********"
CREDENTIAL = "credential:"

_VARIABLE = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SENSITIVE = re.compile(r"(?:token|secret|password|passphrase|api_?key|private_?key|authorization|cookie)$", re.IGNORECASE)
_KEY_LIKE = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_\-+=:.]{16,}")
_NOT_SECRETS = frozenset({"", "undefined", "null", "none", "changeme"})


@dataclass(frozen=True, slots=True)
class Reference:
    """A text with `${NAME}` in it. `path` is where it was written, for the error that names it."""

    text: str
    path: str = field(default="", compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        return variables(self.text)


@dataclass(frozen=True, slots=True)
class CredentialReference:
    """The entry of that name in the credential store; written `credential:<name>`."""

    name: str
    path: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class LiteralSecret:
    """A secret written into the file itself: it works, and every load warns about it."""

    value: Secret
    path: str = field(default="", compare=False)


SecretSource = Reference | CredentialReference | LiteralSecret


class Credentials(Protocol):
    """What resolving needs of the credential store."""

    def reveal(self, name: str) -> Secret | None: ...


def variables(text: str) -> tuple[str, ...]:
    """The names of the environment variables a text refers to, in order."""
    return tuple(_VARIABLE.findall(text))


def expand(text: str, environ: Mapping[str, str]) -> str:
    """Put the variables' values in; `$${X}` stands for the characters `${X}`. Raises KeyError with the missing name."""
    return _VARIABLE.sub(lambda match: environ[match[1]], text).replace("$${", "${")


def read_secret(text: str, path: str) -> SecretSource:
    """Tell a reference from a literal, without looking anything up."""
    if text.startswith(CREDENTIAL):
        return CredentialReference(text.removeprefix(CREDENTIAL).strip(), path)
    if variables(text):
        return Reference(text, path)
    return LiteralSecret(Secret(text), path)


def is_sensitive(name: str) -> bool:
    """Does a key of this name hold a secret? Used where no schema says so (channels, plugins)."""
    return _SENSITIVE.search(name) is not None


def holds_secret(path: tuple[str | int, ...]) -> bool:
    """Is a literal here really secret? Of headers and variables only those whose name says so."""
    return path[-2:-1] not in (("headers",), ("env",)) or is_sensitive(str(path[-1]))


def looks_secret(text: str) -> bool:
    """Could this text be a key that stands in the wrong place? Then no message repeats it."""
    return len(text) > 80 or _KEY_LIKE.fullmatch(text) is not None


def resolve(source: SecretSource, environ: Mapping[str, str], credentials: Credentials | None = None) -> Secret:
    """The secret itself, for immediate use. Raises ConfigInvalid naming the path and what is missing."""
    match source:
        case Reference(text, path):
            missing = [name for name in source.names if not environ.get(name)]
            if missing:
                raise _unresolved(path, f"the environment variable {' and '.join(missing)} is not set", "Set it and start again.")
            secret = Secret(expand(text, environ))
        case CredentialReference(name, path):
            found = credentials.reveal(name) if credentials is not None else None
            if found is None:
                raise _unresolved(path, f"the credential store has no entry {name!r}", f"Run: ostiary config secret set {name}")
            secret = found
        case LiteralSecret(secret, path):
            pass
    if secret.reveal().strip().lower() in _NOT_SECRETS:
        raise _unresolved(path, "the value is empty or a placeholder", "Give a real secret.")
    return secret


def environment(
    block: Mapping[str, SecretSource], environ: Mapping[str, str], credentials: Credentials | None = None
) -> Mapping[str, str]:
    """The process environment with the file's `env` block beneath it. Unresolvable entries of the block are left out."""
    merged = dict(_resolvable(block.items(), environ, credentials))
    merged.update(environ)
    return merged


def _resolvable(
    entries: Iterable[tuple[str, SecretSource]], environ: Mapping[str, str], credentials: Credentials | None
) -> Iterable[tuple[str, str]]:
    for name, source in entries:
        try:
            yield name, resolve(source, environ, credentials).reveal()
        except ConfigInvalid:
            continue


def _unresolved(path: str, reason: str, hint: str) -> ConfigInvalid:
    sentence = f"{path or 'secret'}: {reason}"
    return ConfigInvalid(sentence, problems=(sentence,), hint=hint)
