"""What bytes are, whatever they are called."""

from ostiary.contracts.pictures import picture_type_of


def media_type_of(content: bytes) -> str:
    """Empty if we do not take it."""
    if content.startswith(b"%PDF-"):
        return "application/pdf"
    picture = picture_type_of(content)
    if picture:
        return picture
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return ""
    return "" if "\x00" in text else "text/plain"
