"""What a command printed, as text for the model and for people: no terminal tricks, head and tail within a cap."""

import re

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)"
    r"|\x1b[ -/]*[0-~]"
)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_MARKER_ROOM = 60


def clean(raw: bytes) -> str:
    """Colours and cursor movements are left out; a line that was overwritten is its last state."""
    text = _ESCAPES.sub("", raw.decode("utf-8", "replace")).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROL.sub("", text)


def whole_characters(raw: bytes) -> int:
    """How many of the bytes are whole characters: the rest of the last one may be on its way."""
    for back in range(1, min(4, len(raw)) + 1):
        first = raw[-back]
        if first & 0xC0 != 0x80:
            size = 4 if first >= 0xF0 else 3 if first >= 0xE0 else 2 if first >= 0xC0 else 1
            return len(raw) - back if size > back else len(raw)
    return len(raw)


def capped(text: str, room: int) -> str:
    """Head and tail that fit into `room` bytes, with the number of bytes between them."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= room:
        return text
    keep = max(0, room - _MARKER_ROOM)
    head = raw[: keep // 2].decode("utf-8", "ignore")
    tail = raw[len(raw) - (keep - keep // 2) :].decode("utf-8", "ignore")
    return f"{head}\n[… {len(raw) - keep:,} bytes left out …]\n{tail}"
