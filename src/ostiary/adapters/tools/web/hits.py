"""What a search gives, and what every provider's answer goes through before anybody reads it."""

import re
from collections.abc import Iterable, Mapping
from typing import Protocol

from ostiary.adapters.tools.web.charset import clean
from ostiary.contracts.errors import ToolError
from ostiary.contracts.records import dataclass

LONGEST_TITLE = 200
LONGEST_SNIPPET = 400
_TAG = re.compile(r"<[^<>]{0,500}>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    title: str
    url: str
    snippet: str


class Provider(Protocol):
    """One search engine. `host` is whose word the answers are."""

    @property
    def name(self) -> str: ...

    @property
    def host(self) -> str: ...

    async def search(self, query: str, count: int, seconds: float) -> tuple[Hit, ...]:
        """At most `count`. Raises ToolError, without any key in it."""
        ...


def hit(title: object, url: object, snippet: object) -> Hit | None:
    """None unless it has an address; the texts without markup and within bounds."""
    if not isinstance(url, str) or not url:
        return None
    address = url.strip()[:2000]
    return Hit(title=_line(title, LONGEST_TITLE) or address[:LONGEST_TITLE], url=address, snippet=_line(snippet, LONGEST_SNIPPET))


def hits(found: object, title: str, url: str, snippet: str, count: int) -> tuple[Hit, ...]:
    """From a list of JSON objects with these keys; what has another shape is left out."""
    entries: Iterable[object] = found if isinstance(found, list) else ()
    made = (hit(each.get(title), each.get(url), each.get(snippet)) for each in entries if isinstance(each, Mapping))
    return tuple(each for each in made if each is not None)[:count]


def refused(name: str, status: int, *, hint: str, said: str = "", wait: str = "") -> ToolError:
    """The one sentence for a status that is no answer. `said` is the beginning of the body, `wait` the seconds asked for."""
    if status in (401, 403) or (status == 422 and "TOKEN" in said):
        return ToolError(f"{name} does not accept the request ({status}). {hint}".strip())
    if status == 429:
        seconds = f" {wait} s" if re.fullmatch(r"[0-9]{1,5}", wait) else ""
        return ToolError(f"{name} asks to wait{seconds} before the next search (429).")
    if status in (402, 432, 433):
        return ToolError(f"{name} says that the searches paid for are used up ({status}); the owner can see to that.")
    if status in (400, 422):
        return ToolError(f"{name} does not take this query ({status}); make it shorter and plainer.")
    if status == 202:
        return riddle(name)
    return ToolError(f"{name} answered {status} instead of results.")


def riddle(name: str) -> ToolError:
    return ToolError(f"{name} wants to see a person now. Try again later, or set up another provider in tools.web.search.")


def _line(text: object, limit: int) -> str:
    from html import unescape

    plain = " ".join(clean(unescape(_TAG.sub("", text))).split()) if isinstance(text, str) else ""
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"
