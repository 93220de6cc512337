"""Links that a person put into a message. Pure."""

import re
from collections.abc import Iterable

from ostiary.contracts.patterns import late

MOST_LINKS = 3
_LOOKED_AT = 50_000
_LONGEST = 2000
_FENCE = late(r"^[ \t]{0,3}(```|~~~).*?(?:^[ \t]{0,3}\1|\Z)", re.DOTALL | re.MULTILINE)
_SPAN = late(r"``[^\n]*?``|`[^`\n]*`")
_LINK = late(r"(?<![\w.+-])https?://[^\s<>\"'`|\\^{}]+", re.IGNORECASE)
_TRAILING = ".,;:!?*_~…"
_PAIRS = {")": "(", "]": "["}


def links_in(text: str, *, own_hosts: Iterable[str] = (), most: int = MOST_LINKS) -> tuple[str, ...]:
    """The first `most` different links, as they were written, without the punctuation around them.

    What stands in code is an example and is left alone; so are links to `own_hosts` (`host` or `host:port`), the house itself.
    """
    own = {host.lower().removesuffix(".") for host in own_hosts}
    plain = _SPAN.sub(" ", _FENCE.sub(" ", text[:_LOOKED_AT]))
    found: dict[str, str] = {}
    for match in _LINK.finditer(plain):
        link = _trimmed(match[0]) if len(match[0]) <= _LONGEST else ""
        host = _host(link)
        if not host or host in own or host.rpartition(":")[0] in own:
            continue
        found.setdefault(link.partition("#")[0].rstrip("/"), link)
        if len(found) == most:
            break
    return tuple(found.values())


def _trimmed(link: str) -> str:
    while link:
        last = link[-1]
        opening = _PAIRS.get(last)
        is_unpaired = opening is not None and link.count(last) > link.count(opening)
        if last not in _TRAILING and not is_unpaired:
            break
        link = link[:-1]
    return link


def _host(link: str) -> str:
    """With its port, lower case; empty if there is none or it hides behind a user name."""
    authority = re.split(r"[/?#]", link.partition("://")[2], maxsplit=1)[0].lower()
    return "" if "@" in authority else authority.replace(".:", ":").removesuffix(".")
