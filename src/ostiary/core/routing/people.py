"""Who a sender is. A person is their stable id on a channel; names are never looked at."""

from collections.abc import Collection, Iterable

from ostiary.contracts.errors import BadInput
from ostiary.contracts.identity import EXTERNAL, OWNER, Principal
from ostiary.contracts.messages import UserId


def parse_user_id(text: str) -> UserId:
    """`telegram:123` as configuration writes it. Raises BadInput without a channel or an id; `*` is nobody's id."""
    channel, _, stable_id = text.strip().partition(":")
    channel, stable_id = channel.strip().lower(), stable_id.strip()
    if not channel or not stable_id or "*" in (channel, stable_id):
        raise BadInput(f"{text[:80]!r} is not a person's id", hint="Write channel:id, for example telegram:123456789.")
    return UserId(channel=channel, stable_id=stable_id)


def parse_owners(texts: Iterable[str]) -> frozenset[UserId]:
    """Raises BadInput naming the first entry that is not one person's id: nobody becomes owner by a wildcard."""
    return frozenset(parse_user_id(text) for text in texts)


def resolve(user: UserId, owners: Collection[UserId]) -> Principal:
    """The authority a sender brings. An empty id is never the owner's."""
    known = UserId(channel=user.channel.strip().lower(), stable_id=user.stable_id)
    is_owner = bool(known.channel and known.stable_id) and known in owners
    return Principal(user=user, role=OWNER if is_owner else EXTERNAL)
