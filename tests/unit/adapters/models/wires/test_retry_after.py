import pytest

from ostiary.adapters.models.wires.retry_after import from_details, from_headers, from_words

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "30"}, 30),
        ({"retry-after": "Fri, 15 Jan 2027 08:01:00 GMT"}, 60),
        ({"retry-after": "-5"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "99999999"}, 7 * 24 * 3600),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"x-ratelimit-reset": str(int((NOW + 12) * 1000))}, 12),
        ({"x-ratelimit-reset": str(int(NOW + 12))}, 12),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "0"}, 360),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-remaining-requests": "3"}, None),
        ({"anthropic-ratelimit-requests-reset": "2027-01-15T08:00:20Z", "anthropic-ratelimit-requests-remaining": "0"}, 20),
        ({}, None),
    ],
)
def test_every_form_of_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert from_headers(headers, now=NOW) == seconds


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Please try again in 20s.", 20),
        ("Please try again in 1m2.5s. Visit", 62.5),
        ("try again in 120ms", 0.12),
        ("retry after 30 seconds", 30),
        ("Try again later. You used 30000 tokens.", None),
        ("", None),
    ],
)
def test_a_wait_in_words(words: str, seconds: float | None) -> None:
    assert from_words(words) == seconds


@pytest.mark.parametrize(
    ("details", "seconds"), [([{"retryDelay": "34.5s"}], 34.5), ([{"reason": "x"}, 7], None), ("x", None), (None, None)]
)
def test_a_wait_in_details(details: object, seconds: float | None) -> None:
    assert from_details(details) == seconds
