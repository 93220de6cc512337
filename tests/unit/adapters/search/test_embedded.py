import struct

from ostiary.adapters.search.embedders.embedded import DIMENSIONS, Embedded
from ostiary.adapters.search.embedders.pieces import Pieces
from ostiary.kit.clock import ManualClock


def _dot(one: bytes, other: bytes) -> float:
    a, b = (struct.unpack(f"<{DIMENSIONS}f", vector) for vector in (one, other))
    return sum(x * y for x, y in zip(a, b, strict=True))


async def test_vectors_have_length_one_and_are_near_when_texts_mean_the_same() -> None:
    dog, puppy, tax = await Embedded(clock=ManualClock()).embed(
        ["my dog is ill", "the puppy is sick", "file the tax return"], "passage"
    )
    assert abs(_dot(dog, dog) - 1.0) < 1e-4
    assert _dot(dog, puppy) > _dot(dog, tax) + 0.2


async def test_the_same_text_has_the_same_vector_alone_and_among_others() -> None:
    embedder = Embedded(clock=ManualClock())
    (alone,) = await embedder.embed(["the red telescope"], "query")
    among = await embedder.embed(["x " * 3000, "the red telescope", ""], "passage")
    assert _dot(alone, among[1]) > 0.99999


async def test_a_text_without_words_has_a_vector_all_the_same() -> None:
    (empty,) = await Embedded(clock=ManualClock()).embed(["…!?"], "passage")
    assert abs(_dot(empty, empty) - 1.0) < 1e-4


async def test_weights_are_let_go_after_a_while_and_come_back() -> None:
    clock = ManualClock()
    embedder = Embedded(clock=clock, idle=60.0)
    assert not embedder.is_loaded
    await embedder.embed(["hello"], "query")
    embedder.rest()
    assert embedder.is_loaded
    await clock.advance(61)
    embedder.rest()
    assert not embedder.is_loaded
    assert len(await embedder.embed(["hello"], "query")) == 1


def test_joins_are_made_in_the_order_of_the_vocabulary() -> None:
    pieces = Pieces({"▁": 5, "a": 6, "b": 7, "ab": 0, "▁ab": 1, "▁a": 2, "<0xC3>": 8, "<0xA9>": 9})
    assert pieces.of("ab") == [1]
    assert pieces.of("aba") == [1, 6]
    assert pieces.of("é") == [5, 8, 9]
