import pytest

from ostiary.contracts.errors import BadInput
from ostiary.contracts.messages import UserId
from ostiary.core.routing.people import parse_owners, resolve

OWNERS = parse_owners(["telegram:123", "Matrix:@ana:example.org"])


def test_the_owner_is_known_by_channel_and_stable_id() -> None:
    assert resolve(UserId(channel="telegram", stable_id="123"), OWNERS).is_owner
    assert resolve(UserId(channel="matrix", stable_id="@ana:example.org"), OWNERS).is_owner


@pytest.mark.parametrize(
    "user",
    [
        UserId(channel="discord", stable_id="123"),
        UserId(channel="telegram", stable_id="1234"),
        UserId(channel="telegram", stable_id=""),
        UserId(channel="", stable_id="telegram:123"),
        UserId(channel="telegram:123", stable_id=""),
        UserId(channel="matrix", stable_id="@ANA:example.org"),
    ],
)
def test_everybody_else_is_external(user: UserId) -> None:
    assert resolve(user, OWNERS).role == "external"


def test_without_owners_nobody_is_owner() -> None:
    assert not resolve(UserId(channel="telegram", stable_id="123"), frozenset()).is_owner


@pytest.mark.parametrize("text", ["*", "telegram:*", "*:5", "123", "", ":", "telegram:", ":5"])
def test_a_wildcard_or_half_an_id_makes_nobody_owner(text: str) -> None:
    with pytest.raises(BadInput):
        parse_owners([text])
