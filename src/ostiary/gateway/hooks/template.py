"""Templates over a payload: `{{commits[0].message}}`, `{{headers.x-github-event}}`.

A template is read once, when the configuration is. What it puts in is never read again, so a payload cannot bring along
expressions of its own.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from ostiary.contracts.errors import BadInput
from ostiary.contracts.records import dataclass

_EXPRESSION = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_PATH = re.compile(r"[A-Za-z_$][\w$-]*(?:\.[\w$-]+|\[\d{1,6}\])*", re.ASCII)
_STEP = re.compile(r"[\w$-]+", re.ASCII)
_LONGEST = 20_000
CUT = "\n[cut: the rest was too long]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """Texts and, between them, the steps into the payload."""

    texts: tuple[str, ...]
    paths: tuple[tuple[str, ...], ...]

    def render(self, payload: object, *, headers: Mapping[str, str], most: int) -> str:
        """What the payload lacks is left out. Never longer than `most` characters, and a mark that says so."""
        pieces: list[str] = []
        size = 0
        for text, path in zip(self.texts, (*self.paths, ()), strict=True):
            for piece in (text, _found(payload, headers, path) if path else ""):
                pieces.append(piece[: most - size])
                size += len(pieces[-1])
                if len(pieces[-1]) < len(piece):
                    return "".join((*pieces, CUT))
        return "".join(pieces)


def compile_template(text: str) -> Template:
    """Raises BadInput naming the expression that cannot be read."""
    if len(text) > _LONGEST:
        raise BadInput(f"the template is longer than {_LONGEST} characters")
    parts = _EXPRESSION.split(text)
    paths = []
    for expression in map(str.strip, parts[1::2]):
        if not _PATH.fullmatch(expression):
            raise BadInput(
                f"{{{{{expression[:60]}}}}} is not a path into the payload", hint="Write {{name}} or {{list[0].name}}."
            )
        paths.append(tuple(_STEP.findall(expression)))
    return Template(texts=tuple(parts[::2]), paths=tuple(paths))


def whole(payload: object, most: int) -> str:
    """For a hook without a template: everything, as JSON."""
    text = json.dumps(payload, ensure_ascii=False, indent=1)
    return text if len(text) <= most else text[:most] + CUT


def _found(payload: object, headers: Mapping[str, str], path: tuple[str, ...]) -> str:
    if path[0] == "headers" and len(path) == 2:
        return headers.get(path[1].lower(), "")
    value: Any = payload
    for step in path[1:] if path[0] == "payload" else path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return ""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
