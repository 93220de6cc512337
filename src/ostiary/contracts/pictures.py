"""Pictures by their first bytes, whatever they are called."""

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

_MARKS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def picture_type_of(content: bytes) -> str:
    """Empty if it is no picture that models take."""
    for mark, media_type in _MARKS:
        if content.startswith(mark):
            return media_type
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else ""
