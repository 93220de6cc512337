import io

import pytest

from ostiary.adapters.models.embedded.frames import MAX_FRAME, BadFrame, encode, read


def test_a_frame_comes_back_as_it_was_sent() -> None:
    assert read(io.BytesIO(encode({"text": "Grüße\n", "id": 7}))) == {"text": "Grüße\n", "id": 7}


def test_the_end_of_the_stream_is_no_frame() -> None:
    assert read(io.BytesIO(b"")) is None


def test_a_frame_cut_short_is_the_end() -> None:
    assert read(io.BytesIO(encode({"text": "hello"})[:-2])) is None


@pytest.mark.parametrize("raw", [b"\xff\xff\xff\xff{}", b"\0\0\0\0", b"\0\0\0\2[]", b"\0\0\0\2{{"])
def test_what_is_no_frame_is_refused(raw: bytes) -> None:
    with pytest.raises(BadFrame):
        read(io.BytesIO(raw))


def test_a_frame_too_large_is_not_sent() -> None:
    with pytest.raises(BadFrame):
        encode({"text": "x" * MAX_FRAME})
