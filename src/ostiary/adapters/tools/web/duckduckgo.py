"""Reading DuckDuckGo's page of results. Pure."""

from html.parser import HTMLParser
from urllib.parse import parse_qs, urlsplit

from ostiary.adapters.tools.web.hits import Hit, hit

_VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})


class AskedForAPerson(Exception):
    """The page is a riddle for people instead of results."""


def results_in(page: str) -> tuple[Hit, ...]:
    """In their order, without advertisements. Raises AskedForAPerson."""
    reader = _Results()
    reader.feed(page)
    reader.close()
    if reader.is_riddle and not reader.found:
        raise AskedForAPerson
    made = (hit(title, target_of(url), snippet) for title, url, snippet, is_ad in reader.found if not is_ad)
    return tuple(each for each in made if each is not None)


def target_of(link: str) -> str:
    """Where a result leads: links go through a counter that names the target. Empty if it leads nowhere outside."""
    try:
        parts = urlsplit(f"https:{link}" if link.startswith("//") else link)
        host = parts.hostname or ""
    except ValueError:
        return ""
    if host == "duckduckgo.com" or host.endswith(".duckduckgo.com"):
        return (parse_qs(parts.query).get("uddg") or [""])[0] if parts.path == "/l/" else ""
    return link if parts.scheme in ("http", "https") else ""


class _Results(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, str, str, bool]] = []
        self.is_riddle = False
        self._is_ad = False
        self._part = ""
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        classes = (given.get("class") or "").split()
        if any(name.startswith("anomaly-modal") for name in classes) or given.get("id") == "challenge-form":
            self.is_riddle = True
        if self._part:
            self._depth += tag not in _VOID
        elif "result" in classes:
            self._is_ad = any(name.startswith("result--ad") for name in classes)
        elif "result__a" in classes:
            self.found.append(("", given.get("href") or "", "", self._is_ad))
            self._part, self._depth = "title", 1
        elif "result__snippet" in classes and self.found:
            self._part, self._depth = "snippet", 1

    def handle_endtag(self, tag: str) -> None:
        if self._part and tag not in _VOID:
            self._depth -= 1
            self._part = self._part if self._depth else ""

    def handle_data(self, data: str) -> None:
        if not self._part:
            return
        title, url, snippet, is_ad = self.found[-1]
        if self._part == "title":
            self.found[-1] = (title + data, url, snippet, is_ad)
        else:
            self.found[-1] = (title, url, snippet + data, is_ad)
