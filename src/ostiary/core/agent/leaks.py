"""Replies that could carry private data out by themselves: a picture that is fetched, a link that is previewed or followed.

Only where the conversation holds both private data and text that nobody vouches for. An address that people or the web gave
word for word, before the model wrote it, carries nothing new and stays. Every pattern is linear in the text.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from html import unescape

from ostiary.contracts.content import AnswerPart, AssistantMessage, Label, Message, Text, ToolCall, Trust
from ostiary.contracts.patterns import late
from ostiary.core.policy.seen import is_seen
from ostiary.core.sessions.session import pieces

MOST_LOOKED_UP = 200

_DOTS = ".\u3002\uff0e\uff61"
_REST = r"[^\s<>]++"
_IMAGE = late(r"!\[([^\]\n]{0,200}+)\]\(\s{0,10}+<?([^)\s>]{1,4000}+)>?[^)\n]{0,300}+\)?")
_TARGET = late(r"\]\(\s{0,10}+<?((?:[a-z][a-z0-9+.-]{0,30}+:|[/\\]{2})[^)\s>]{1,4000}+)", re.IGNORECASE)
_REFERENCE = late(r"^([ >*+\t-]{0,20}+)\[([^\]\n]{1,100}+)\]:\s{0,20}+<?([^\s>]{1,4000}+)[^\n]{0,300}+$", re.MULTILINE)
_HTML = late(
    r"<(?:img|image|video|audio|iframe|object|embed|link|source|svg|script|style|base|form|input|meta|picture|track)\b"
    r"[^>]{0,2000}+>?|<[a-z!/][^<>\s]{0,40}+\s[^<>=]{0,200}+=[^<>]{0,2000}+>?",
    re.IGNORECASE,
)
_URL = late(
    r"\b(?:(?:https?|ftps?|wss?):[\\/]*+|[a-z][a-z0-9+.-]{1,15}:[\\/]{2}"
    rf"|(?:mailto|data|javascript|vbscript|sms|tel|callto|facetime|skype|magnet|intent|blob):){_REST}",
    re.IGNORECASE,
)
_RELATIVE = late(rf"(?<![\w:/\\.])[/\\]{{2}}[\w\[%@-]{_REST}")
_LABEL = rf"[^\W_][\w-]{{0,62}}+[{_DOTS}]"
_BARE = late(
    rf"(?<![\w/:\\{_DOTS}-])(?:(?:{_LABEL})+(?:[^\W\d_]{{2,24}}+)?|(?:\d{{1,3}}\.){{3}}\d{{1,3}})(?::\d{{1,5}}+)?[/?#\\]{_REST}"
)
# A name of three parts or more: looking it up is enough to tell its owner what the first ones say.
_NAME = late(rf"(?<![\w/:@\\{_DOTS}-])(?:{_LABEL}){{2,}}([a-z]{{2,24}}+)(?![\w-]|[{_DOTS}]\w)", re.IGNORECASE)
_TOP = frozenset(
    re.findall(
        r"\w+",
        "com net org info biz example test app dev xyz top site online club live link click shop store space website page pro"
        " cloud host press tech world today one icu cyou sbs mobi name gov edu int arpa",
    )
)
_ENDINGS_OF_FILES = frozenset({"py", "rs", "sh", "md", "pl", "so", "cc", "ps", "js", "ts", "go", "hs", "ml", "db", "gz", "cs"})
_ADDRESSES = ((_URL, (":",)), (_RELATIVE, ("//", "\\")), (_BARE, ("/", "?", "#", "\\")))
_ENTITY = late(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
# Next to an ordinary letter only: between others they join signs into one.
_UNSEEN = late(r"(?<=[!-~])[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]++|[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]++(?=[!-~])")
_ESCAPE = late(r"\\([!-/:-@\[-`{-~])")
_DELIMITERS = late(r"[\"'`()\[\]{}|*,;]")
_PUNCTUATION = late(r"[\"'`()\[\]{}|*,;.:!?_\\]*")
_TRAILING = ".,;:!?)*_\"'`]}|"
_CUTS = 4


def could_leak(label: Label) -> bool:
    """Both halves of the danger are there: something to take, and somebody who may want it."""
    return label.private and label.trust is Trust.UNTRUSTED


def neutralised(parts: Sequence[AnswerPart], label: Label, messages: Iterable[Message]) -> tuple[AnswerPart, ...]:
    """The answer's words, as one text, without pictures from elsewhere and without addresses that nobody has given before."""
    texts = [part for part in parts if isinstance(part, Text)]
    if not could_leak(label) or not texts:
        return tuple(parts)
    # People read the texts as one, so an address may be spread over several.
    whole = replace(texts[0], text=harmless("".join(part.text for part in texts), Known(messages)))
    return tuple(whole if part is texts[0] else part for part in parts if part is texts[0] or not isinstance(part, Text))


class Known:
    """Which addresses people or the web gave, word for word, before the model wrote them; `given` may take fewer for givers.
    Beyond the first two hundred that are looked up none is known."""

    def __init__(self, messages: Iterable[Message], given: Callable[[Iterable[Message], str], bool] = is_seen) -> None:
        self._messages = messages
        self._given = given
        self._folded: list[tuple[Message, str | None]] | None = None
        self._found: dict[str, bool] = {}

    def __contains__(self, url: str) -> bool:
        if url not in self._found:
            if len(self._found) >= MOST_LOOKED_UP:
                return False
            self._found[url] = self._is_seen(url)
        return self._found[url]

    def _is_seen(self, url: str) -> bool:
        if self._folded is None:
            self._folded = [(message, _folded(message)) for message in self._messages]
        core = (url.partition("://")[2] or url).rstrip("/").casefold()
        return bool(core) and self._given((message for message, text in self._folded if text is None or core in text), url)


def _folded(message: Message) -> str | None:
    """Where to look before looking closely; None where an address may be written in another way."""
    if isinstance(message, AssistantMessage) and any(
        "\\" in part.arguments for part in message.parts if isinstance(part, ToolCall)
    ):
        return None
    return "\n".join(pieces(message)).casefold()


def harmless(text: str, known: Known) -> str:
    """Addresses are read as a renderer would: entities, escapes and letters nobody sees hide nothing in them."""
    plain = _ESCAPE.sub(r"\1", _ENTITY.sub(_read_entity, text)) if "&" in text or "\\" in text else text
    if not plain.isascii():
        plain = _UNSEEN.sub("", plain)
    cleaned = _cleaned(plain, known)
    # With an address in it the plain form is the one that was looked at, so it is the one that leaves.
    return text if cleaned == plain and (plain is text or not _holds_address(plain)) else cleaned


def _holds_address(text: str) -> bool:
    return any(_may_hold(text, signs) and pattern.search(text) for pattern, signs in _ADDRESSES)


def _may_hold(text: str, signs: tuple[str, ...]) -> bool:
    return any(sign in text for sign in signs)


def _read_entity(found: re.Match[str]) -> str:
    meant = unescape(found[0])
    return found[0] if any(sign in "<>&\"'" or sign.isspace() for sign in meant) else meant


def _cleaned(text: str, known: Known) -> str:
    if "](" in text:
        text = _IMAGE.sub(lambda found: _named("picture", found[1], found[2]), text)
        text = _TARGET.sub(lambda found: found[0] if found[1] in known else f"](link to {_host(found[1])} removed", text)
    if "<" in text:
        text = _HTML.sub("[removed]", text)
    if "]:" in text:
        text = _REFERENCE.sub(lambda found: found[0] if found[3] in known else f"{found[1]}[{found[2]}]: (link removed)", text)
    for pattern, signs in _ADDRESSES:
        if _may_hold(text, signs):
            text = _walked(text, pattern, known)
    return _NAME.sub(lambda found: _defanged(found, known), text)


def _walked(text: str, pattern: re.Pattern[str], known: Known) -> str:
    """Keep the known addresses, each ended so that nothing can be appended to it, and take out the others."""
    made: list[str] = []
    place = 0
    while (found := pattern.search(text, place)) is not None:
        made.append(text[place : found.start()])
        kept = _known_part(found[0], known)
        if not kept:
            bare = found[0].rstrip(_TRAILING)
            made.append(f"[link to {_host(bare)} removed]{found[0][len(bare) :]}")
            place = found.end()
            continue
        behind = _PUNCTUATION.match(found[0], len(kept))
        place = found.start() + (behind.end() if behind is not None else len(kept))
        made.append(text[found.start() : place] + (" " if place < found.end() else ""))
    made.append(text[place:])
    return "".join(made)


def _known_part(url: str, known: Known) -> str:
    """The longest beginning, up to a sign that may end an address, that is known; empty if none is."""
    cuts = [found.start() for found, _ in zip(_DELIMITERS.finditer(url), range(_CUTS), strict=False)]
    candidates = (url, url.rstrip(_TRAILING), *(url[:cut].rstrip(_TRAILING) for cut in reversed(cuts)))
    return next((each for each in dict.fromkeys(candidates) if each and each in known), "")


def _defanged(found: re.Match[str], known: Known) -> str:
    top = found[1].lower()
    is_name = top in _TOP or (len(top) == 2 and top not in _ENDINGS_OF_FILES)
    return re.sub(f"[{_DOTS}]", "[.]", found[0]) if is_name and found[0] not in known else found[0]


def _named(what: str, words: str, url: str) -> str:
    return f"[{what} from {_host(url)} removed{': ' + words if words else ''}]"


def _host(url: str) -> str:
    rest = re.sub(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]*", "", url)
    host = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")[2]
    # A name can carry data too; its last two labels are enough to tell what it was.
    labels = re.split(f"[{_DOTS}]", host[:120])[-2:]
    return ".".join(labels) if len(labels) > 1 and all(labels) else "elsewhere"
