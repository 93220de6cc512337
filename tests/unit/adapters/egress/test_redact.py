from base64 import b64encode
from urllib.parse import quote

import pytest

from ostiary.adapters.egress.redact import redact

SECRET = "sk/proj+0123456789=="


@pytest.mark.parametrize(
    "form", [SECRET, quote(SECRET, safe=""), b64encode(SECRET.encode()).decode(), "sk/proj+***789", SECRET[:12]]
)
def test_every_form_a_server_echoes_is_taken_out(form: str) -> None:
    assert "0123" not in (cleaned := redact(f"Bad key '{form}', sorry.", [SECRET]))
    assert form not in cleaned
    assert cleaned.endswith("sorry.")


def test_an_empty_or_tiny_secret_does_not_blank_the_text() -> None:
    assert redact("a plain sentence", ["", "a"]) == "a plain sentence"
