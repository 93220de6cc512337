"""What bytes are, whatever they are called."""

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


def media_type_of(content: bytes) -> str:
    """Empty if we do not take it."""
    for beginning, kind in _BEGINNINGS:
        if content.startswith(beginning):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ""
    return "" if "\x00" in text else "text/plain"
