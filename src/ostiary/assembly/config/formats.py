"""Telling somebody who saved another format so, instead of pointing at a character."""

import re

_GUESSES = (
    (re.compile(r"<[!?A-Za-z]"), "XML or HTML"),
    (re.compile(r"---\s*(?:\n|$)|%YAML"), "YAML"),
    (re.compile(r"\[\[?[\w.\"' -]+\]?\]\s*(?:[#;].*)?(?:\n|$)"), "TOML or INI"),
    (re.compile(r"(?:export\s+)?[A-Z_][A-Z0-9_]*=\S*\s*(?:\n|$)"), "a list of environment variables"),
    (re.compile(r"[\w.\"-]+\s*=\s*\S"), "TOML or INI"),
    (re.compile(r"-\s+\S|[\w-]+:(?:\s+[^\s{\[]|\s*\n)"), "YAML"),
)
_COMMENTS = re.compile(r"(?:\s*(?:[#;][^\n]*)?\n)*\s*")


def foreign_format(text: str) -> str:
    """The name of the format this text is probably in, or an empty text if it begins like JSON5."""
    body = text.lstrip("\ufeff")
    match = _COMMENTS.match(body)
    body = body[match.end() :] if match else body
    if body.startswith(("{", "//", "/*")):
        return ""
    return next((name for pattern, name in _GUESSES if pattern.match(body)), "")
