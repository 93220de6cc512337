"""From bytes of a page to text: what the server says, what the page says, else UTF-8, else Windows-1252. Pure, never raises."""

import codecs
import re
import unicodedata

_META = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_LOOKED_AT = 4096
# As every browser does: pages that claim these mean the larger set.
_LARGER = {"iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "gb2312": "gb18030", "gbk": "gb18030"}
# Text in appearance only, or able to hide one text in another.
_REFUSED = frozenset({"utf-7", "idna", "punycode", "raw_unicode_escape", "unicode_escape", "undefined", "palmos", "mbcs", "oem"})
# Direction overrides and the tag characters show one thing to people and another to a model.
_INVISIBLE = re.compile("[\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")


def decode(body: bytes, content_type: str = "", *, is_html: bool = False) -> str:
    """Whatever it is, something readable comes out; what fits nowhere becomes a replacement character."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body.decode(name, "replace")
    named = _HEADER.search(content_type)
    candidates = [named[1]] if named else []
    if is_html and (found := _META.search(body[:_LOOKED_AT])):
        candidates.append(found[1].decode("ascii"))
    for candidate in candidates:
        codec = _codec(candidate)
        if codec and not (codec == "utf-8" and _is_lie(body)):
            return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        # A body that was cut may end within a character.
        return body.decode("utf-8", "ignore") if error.start >= len(body) - 4 else body.decode("cp1252", "replace")


def _is_lie(body: bytes) -> bool:
    """What claims to be UTF-8 and is mostly not, is something else."""
    text = body.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return broken > 0 and 2 * broken > sum(not character.isascii() for character in text)


def clean(text: str) -> str:
    """Without control and invisible characters, with plain line ends, composed (NFC)."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0c", "\n")
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", _CONTROL.sub("", text)))


def _codec(name: str) -> str:
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return ""
    if found.name in _REFUSED or not getattr(found, "_is_text_encoding", True):
        return ""
    return _LARGER.get(found.name, found.name)
