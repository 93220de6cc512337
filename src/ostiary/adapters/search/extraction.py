"""The text inside a document's bytes: text as it is, PDF by its pages, nothing for what is neither."""

from ostiary.adapters.search.chunking import MOST_CHARACTERS

MOST_BYTES = 20_000_000
_LOOKED_AT = 8_192
_MOST_PAGES = 500


def extract(path: str, content: bytes) -> str:
    """Never raises: what cannot be read has no text. Lines end with a line feed, whatever they ended with."""
    if len(content) > MOST_BYTES:
        return ""
    if content.startswith(b"%PDF-"):
        return _pdf(content)
    if b"\0" in content[:_LOOKED_AT]:
        return ""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("utf-8", "replace")
        if text.count("\ufffd") * 20 > len(text):
            return ""
    return text.replace("\r\n", "\n").replace("\r", "\n")[:MOST_CHARACTERS]


def _pdf(content: bytes) -> str:
    from io import BytesIO

    try:
        from pypdf import PdfReader
    except ImportError:
        return ""
    parts: list[str] = []
    size = 0
    try:
        for page in PdfReader(BytesIO(content)).pages[:_MOST_PAGES]:
            parts.append(page.extract_text())
            size += len(parts[-1])
            if size > MOST_CHARACTERS:
                break
    except Exception:  # noqa: BLE001 - a broken file must not stop the index; what was read of it stays
        return "\n".join(parts)[:MOST_CHARACTERS]
    return "\n".join(parts)[:MOST_CHARACTERS]
