import pytest

from ostiary.contracts.errors import BadInput, Conflict, StaleLease
from ostiary.contracts.store import Lease
from ostiary.kit.clock import ManualClock
from tests.conformance.store.conftest import AnyStore, MakeStore
from tests.conformance.store.words import MAIN, setting


async def test_a_lease_lasts_as_long_as_was_asked(store: AnyStore, clock: ManualClock) -> None:
    lease = await store.claim("lane", owner="a", seconds=10)
    assert (lease.lane, lease.until) == ("lane", clock.now() + 10)


async def test_a_held_lane_is_refused_and_the_holder_is_named(store: AnyStore) -> None:
    await store.claim("lane", owner="gateway-1", seconds=10)
    with pytest.raises(Conflict, match="gateway-1"):
        await store.claim("lane", owner="gateway-2", seconds=10)


async def test_lanes_are_held_independently(store: AnyStore) -> None:
    await store.claim("lane", owner="a", seconds=10)
    assert (await store.claim("other", owner="b", seconds=10)).lane == "other"


async def test_an_expired_lease_can_be_taken(store: AnyStore, clock: ManualClock) -> None:
    first = await store.claim("lane", owner="a", seconds=10)
    clock.jump(10)
    second = await store.claim("lane", owner="b", seconds=10)
    assert second.token > first.token


async def test_a_stale_lease_cannot_write(store: AnyStore, clock: ManualClock) -> None:
    stale = await store.claim("lane", owner="a", seconds=10)
    clock.jump(11)
    fresh = await store.claim("lane", owner="b", seconds=10)
    with pytest.raises(StaleLease):
        await store.commit([setting("old")], fence=stale)
    assert await store.commit([setting("new")], fence=fresh) == (1,)
    assert len(await store.read(MAIN)) == 1


async def test_a_stale_lease_cannot_write_after_a_restart(make_store: MakeStore) -> None:
    async with make_store() as before:
        stale = await before.claim("lane", owner="a", seconds=10)
    async with make_store() as after:
        await after.claim("lane", owner="a", seconds=10)
        with pytest.raises(StaleLease):
            await after.commit([setting("old")], fence=stale)


async def test_the_owner_may_claim_again_and_fences_its_former_self_off(store: AnyStore) -> None:
    first = await store.claim("lane", owner="a", seconds=10)
    second = await store.claim("lane", owner="a", seconds=10)
    assert second.token > first.token
    with pytest.raises(StaleLease):
        await store.commit([setting("old")], fence=first)


async def test_an_expired_lease_that_nobody_took_still_writes(store: AnyStore, clock: ManualClock) -> None:
    lease = await store.claim("lane", owner="a", seconds=10)
    clock.jump(11)
    assert await store.commit([setting("a")], fence=lease) == (1,)


async def test_a_renewed_lease_keeps_its_token_and_holds_longer(store: AnyStore, clock: ManualClock) -> None:
    lease = await store.claim("lane", owner="a", seconds=10)
    clock.jump(9)
    renewed = await store.renew(lease, seconds=10)
    assert (renewed.token, renewed.until) == (lease.token, clock.now() + 10)
    clock.jump(9)
    with pytest.raises(Conflict):
        await store.claim("lane", owner="b", seconds=10)


async def test_a_lease_that_was_taken_cannot_be_renewed(store: AnyStore, clock: ManualClock) -> None:
    stale = await store.claim("lane", owner="a", seconds=10)
    clock.jump(11)
    await store.claim("lane", owner="b", seconds=10)
    with pytest.raises(StaleLease):
        await store.renew(stale, seconds=10)


async def test_a_released_lane_is_free_and_its_token_is_worth_nothing(store: AnyStore) -> None:
    released = await store.claim("lane", owner="a", seconds=10)
    await store.release(released)
    with pytest.raises(StaleLease):
        await store.commit([setting("old")], fence=released)
    fresh = await store.claim("lane", owner="b", seconds=10)
    assert fresh.token > released.token


async def test_releasing_a_stale_lease_does_not_free_the_lane(store: AnyStore, clock: ManualClock) -> None:
    stale = await store.claim("lane", owner="a", seconds=10)
    clock.jump(11)
    fresh = await store.claim("lane", owner="b", seconds=10)
    await store.release(stale)
    assert await store.commit([setting("a")], fence=fresh) == (1,)


@pytest.mark.parametrize("token", [-1, 0, 1])
async def test_a_lease_that_was_never_given_cannot_write(store: AnyStore, token: int) -> None:
    with pytest.raises(StaleLease):
        await store.commit([setting("a")], fence=Lease(lane="lane", token=token, until=2e9))


@pytest.mark.parametrize(("owner", "seconds"), [("", 10.0), ("a", 0.0), ("a", -1.0)])
async def test_a_lease_without_owner_or_time_is_refused(store: AnyStore, owner: str, seconds: float) -> None:
    with pytest.raises(BadInput):
        await store.claim("lane", owner=owner, seconds=seconds)
