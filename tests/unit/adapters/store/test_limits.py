import pytest

from ostiary.adapters.store.limits import DEFAULT_LIMITS, StoreLimits, check_size
from ostiary.contracts.errors import BadInput


def test_there_is_always_a_limit() -> None:
    assert (DEFAULT_LIMITS.document_bytes, DEFAULT_LIMITS.quota_bytes) == (100_000_000, 20_000_000_000)


@pytest.mark.parametrize(("document", "quota"), [(0, 10), (-1, 10), (2_000_000_000, 10**12), (10, 9), (10, 0), (10, -1)])
def test_no_limit_can_be_switched_off_or_contradict_the_other(document: int, quota: int) -> None:
    with pytest.raises(BadInput):
        StoreLimits(document_bytes=document, quota_bytes=quota)


def test_a_document_may_have_exactly_as_many_bytes_as_the_limit_says() -> None:
    limits = StoreLimits(document_bytes=10, quota_bytes=10)
    check_size(10, "It", limits)
    with pytest.raises(BadInput, match="It has 11 bytes"):
        check_size(11, "It", limits)
