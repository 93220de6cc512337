"""Where a fact came from."""

import pytest

from ostiary.contracts.errors import BadInput
from ostiary.contracts.store import EraseVersions, Put
from tests.unit.core.memory.house import MAIN, MINE, WEB, Home


async def test_a_fact_leads_back_to_the_words_it_was_made_of(house: Home) -> None:
    await house.turn("hello", "hi")
    turn = await house.turn("By the way, my sister is called Ana.", "Noted.", wrote="The sister of the owner is Ana.")
    await house.turn("and my brother Ben", "Noted.", wrote="The brother of the owner is Ben.")
    (origin,) = await house.memory.origins.why("sister of the owner")
    assert (origin.path, origin.start, origin.turn, origin.session) == ("MEMORY.md", 3, turn, str(MAIN))
    assert (origin.author, origin.trust, origin.sources) == ("telegram:1", "owner", ("telegram:1",))
    assert origin.words == "By the way, my sister is called Ana."
    assert origin.is_confirmed


async def test_a_place_can_be_asked_about_in_every_spelling(house: Home) -> None:
    await house.keep("Ana is my sister.", turn="turn_a")
    await house.keep("Ben is my brother.", turn="turn_b")
    for place in ("MEMORY.md#L4", "MEMORY.md#4", "MEMORY.md:4-4", "MEMORY.md#L4-L9"):
        (origin,) = await house.memory.origins.why(place)
        assert origin.turn == "turn_b"
    with pytest.raises(BadInput, match="nothing on line 99"):
        await house.memory.origins.why("MEMORY.md#L99")


async def test_an_unconfirmed_fact_names_its_sources(house: Home) -> None:
    await house.keep("Bills are paid to IBAN X.", label=MINE.join(WEB))
    (origin,) = await house.memory.origins.why("IBAN X")
    assert not origin.is_confirmed
    assert (origin.trust, origin.sources) == ("untrusted", ("telegram:1", "web:evil.example"))


async def test_it_is_found_among_many_versions(house: Home) -> None:
    for number in range(40):
        await house.keep(f"Fact number {number} is true.", turn=f"turn_{number}")
    (origin,) = await house.memory.origins.why("fact number 23 is true")
    assert (origin.turn, origin.version) == ("turn_23", 24)


async def test_erased_versions_are_no_hindrance(house: Home) -> None:
    await house.keep("Ana is my sister.", turn="turn_a")
    await house.keep("Ben is my brother.", turn="turn_b")
    await house.commit(EraseVersions(collection="_memory", path="MEMORY.md", versions=(1,)))
    (origin,) = await house.memory.origins.why("Ana is my sister")
    assert (origin.version, origin.words) == (2, "")


async def test_what_nobody_remembers_has_no_origin_and_pictures_are_passed_over(house: Home) -> None:
    await house.commit(Put(collection="_memory", path="notes/x.png", content=b"\x89PNG\x00\xff", at=1.0, author="me"))
    assert await house.memory.origins.why("nothing says this") == ()
    with pytest.raises(BadInput, match="at least 3"):
        await house.memory.origins.why("a")
