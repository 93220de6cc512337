from io import BytesIO

from pypdf import PdfWriter

from ostiary.adapters.search.extraction import MOST_BYTES, extract


def test_text_comes_as_it_is_with_plain_line_ends() -> None:
    assert extract("a.md", "\ufeffGrüße\r\nan alle\r".encode()) == "Grüße\nan alle\n"


def test_binary_has_no_text() -> None:
    assert extract("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR") == ""
    assert extract("a.bin", bytes(range(128, 256)) * 8) == ""


def test_a_stray_byte_does_not_hide_a_text() -> None:
    assert "spare key" in extract("a.txt", b"the spare key \xff hangs behind the barometer in the hall")


def test_what_is_too_large_is_not_read() -> None:
    assert extract("a.txt", b"x" * (MOST_BYTES + 1)) == ""


def test_a_broken_pdf_has_no_text_and_stops_nothing() -> None:
    assert extract("a.pdf", b"%PDF-1.7 nonsense") == ""


def test_an_empty_page_of_a_pdf_is_empty() -> None:
    writer = PdfWriter()
    writer.add_blank_page(width=72, height=72)
    made = BytesIO()
    writer.write(made)
    assert extract("a.pdf", made.getvalue()) == ""
