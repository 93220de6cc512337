from hypothesis import given
from hypothesis import strategies as st

from ostiary.adapters.sandbox.output import HeadTail

PIECES = st.lists(st.binary(max_size=40), max_size=30)


@given(pieces=PIECES, most=st.integers(min_value=2, max_value=64))
def test_head_tail_and_count_add_up(pieces: list[bytes], most: int) -> None:
    kept, whole = HeadTail(most), b"".join(pieces)
    for piece in pieces:
        kept.add(piece)
    head, tail = whole[: most // 2], whole[len(whole) - (most - most // 2) :]
    middle = f"\n[… {len(whole) - most} bytes left out …]\n".encode()
    assert kept.left_out == max(0, len(whole) - most)
    assert kept.whole() == (whole if len(whole) <= most else head + middle + tail)


@given(pieces=PIECES, most=st.integers(min_value=2, max_value=64), data=st.data())
def test_reading_on_gives_what_is_kept_beyond_the_offset(pieces: list[bytes], most: int, data: st.DataObject) -> None:
    kept, whole = HeadTail(most), b"".join(pieces)
    for piece in pieces:
        kept.add(piece)
    after = data.draw(st.integers(min_value=0, max_value=len(whole)))
    missing = range(most // 2, max(most // 2, len(whole) - (most - most // 2)))
    assert kept.after(after) == bytes(byte for place, byte in enumerate(whole) if place >= after and place not in missing)


def test_much_output_takes_little_memory() -> None:
    kept = HeadTail(1000)
    for _ in range(1000):
        kept.add(b"x" * 10_000)
    assert len(kept.whole()) < 1100
    assert kept.left_out == 10_000_000 - 1000
