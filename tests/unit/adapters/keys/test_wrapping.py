import json

import pytest

from ostiary.adapters.keys.wrapping import (
    Cost,
    dump,
    heard,
    load,
    new_recovery_key,
    spoken,
    to_json,
    unwrap,
    wrap_by_key,
    wrap_by_passphrase,
    wrap_by_recovery_key,
)
from ostiary.contracts.errors import BadInput, StoreRefused

KEY = bytes(range(32))
CHEAP = Cost(n=2**4)
PHRASE = "four random words"


def test_a_passphrase_opens_what_it_sealed_after_a_way_through_a_file() -> None:
    assert unwrap(load(dump(wrap_by_passphrase(KEY, PHRASE, purpose="vault", cost=CHEAP))), PHRASE) == KEY


def test_the_usual_cost_of_a_try_is_at_least_128_megabytes() -> None:
    assert 128 * Cost().n * Cost().r >= 128 * 2**20


@pytest.mark.parametrize("wrong", ["four random word", "Four random words", " " + PHRASE, ""])
def test_another_passphrase_opens_nothing(wrong: str) -> None:
    assert unwrap(wrap_by_passphrase(KEY, PHRASE, purpose="vault", cost=CHEAP), wrong) is None


def test_a_short_passphrase_is_refused() -> None:
    with pytest.raises(BadInput, match="at least 8"):
        wrap_by_passphrase(KEY, "seven77", purpose="vault", cost=CHEAP)


def test_every_flipped_bit_of_the_sealed_key_is_noticed() -> None:
    wrapped = to_json(wrap_by_recovery_key(KEY, b"r" * 20, purpose="vault"))
    sealed = load(json.dumps(wrapped).encode()).sealed
    for place in range(len(sealed)):
        flipped = bytes(byte ^ (place == at) for at, byte in enumerate(sealed))
        broken = {**wrapped, "sealed": __import__("base64").b64encode(flipped).decode()}
        assert unwrap(load(json.dumps(broken).encode()), b"r" * 20) is None


def test_a_key_sealed_for_one_purpose_does_not_open_for_another() -> None:
    told = to_json(wrap_by_key(KEY, b"k" * 32, purpose="backups"))
    assert unwrap(load(json.dumps({**told, "purpose": "vault"}).encode()), b"k" * 32) is None


@pytest.mark.parametrize("cost", [{"n": 2**30, "r": 8, "p": 1}, {"n": 2**17, "r": 8, "p": 99}, {"n": 1000, "r": 8, "p": 1}])
def test_a_file_cannot_ask_this_machine_for_endless_work(cost: dict[str, int]) -> None:
    told = to_json(wrap_by_passphrase(KEY, PHRASE, purpose="vault", cost=CHEAP))
    with pytest.raises(StoreRefused, match="more work"):
        unwrap(load(json.dumps({**told, "scrypt": cost}).encode()), PHRASE)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"kind": "magic", "purpose": "", "salt": "", "sealed": ""}', b"\xff"])
def test_what_is_no_sealed_key_is_said_to_be_none(content: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own text
        load(content)


def test_a_recovery_key_survives_being_read_aloud_and_typed() -> None:
    recovery = new_recovery_key()
    said = spoken(recovery)
    assert heard(said) == heard(said.lower().replace("-", " ")) == heard(said.replace("O", "0").replace("I", "1")) == recovery


def test_a_typing_error_is_told_from_a_wrong_key() -> None:
    said = spoken(b"a" * 20)
    with pytest.raises(BadInput, match="not a recovery key"):
        heard(said[:-3] + ("B" if said[-3] != "B" else "C") + said[-2:])
    with pytest.raises(BadInput, match="not a recovery key"):
        heard(said[:20])
