"""Marking text from outside so that neither the model nor the command desk takes it for somebody's own words."""

import secrets
from functools import cache


def spotlight(name: str, text: str) -> str:
    """`text` as a quotation between marks. Every line of it begins with `> `, so nothing in it can look like the end of it;
    the marks carry a number drawn for this text alone. Commands in quoted lines are nobody's."""
    mark = secrets.token_hex(8)
    lines = text.splitlines() or [""]
    quoted = "\n".join(f"> {line}" for line in lines)
    return f"{_words().format(name=name)}\n[outside {mark}: begin]\n{quoted}\n[outside {mark}: end]"


@cache
def _words() -> str:
    from importlib.resources import files

    return files("ostiary.gateway.hooks").joinpath("outside.md").read_text().strip()
