import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from ostiary.adapters.store.codec import (
    decode_event,
    decode_inbox,
    decode_outbound,
    decode_record,
    encode,
    encode_event,
    encode_inbox,
)
from ostiary.adapters.store.upcasters import UPCASTERS
from ostiary.contracts.errors import BadInput, StoreRefused
from ostiary.contracts.events import KINDS, VERSIONS, Erased, Event, SettingChanged, ToolResulted, TurnResumed
from ostiary.contracts.messages import OutboundMessage
from ostiary.contracts.store import InboxItem, SessionRecord
from tests.unit.adapters.store.samples import instances_of

_QUICK = settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_event_survives_the_way_to_bytes_and_back(kind: str) -> None:
    @_QUICK
    @given(instances_of(KINDS[kind]))
    def holds(event: Event) -> None:
        name, version, body = encode_event(event)
        assert (name, version) == (kind, VERSIONS[kind])
        # Messages compare by identity; the text of an event shows every class and field.
        assert repr(decode_event(name, version, body)) == repr(event)

    holds()


@_QUICK
@given(instances_of(InboxItem))
def test_every_inbox_item_survives(item: InboxItem) -> None:
    kept, spoken = encode_inbox(item)
    row = {"id": item.id, "state": item.state, "turn": item.turn, "ready_at": item.ready_at}
    assert repr(decode_inbox(kept, spoken, row)) == repr(item)


@_QUICK
@given(instances_of(OutboundMessage))
def test_every_outbound_message_survives(message: OutboundMessage) -> None:
    assert decode_outbound(encode(message)) == message


@_QUICK
@given(instances_of(SessionRecord))
def test_every_session_record_survives(record: SessionRecord) -> None:
    assert decode_record(encode(record), last_seq=7) == replace(record, last_seq=7)


@_QUICK
@given(instances_of(InboxItem))
def test_what_stays_of_an_inbox_item_holds_nothing_that_was_said(item: InboxItem) -> None:
    kept, _ = encode_inbox(item)
    words = json.loads(kept)
    said = {"text", "attachments", "quoted", "sender_name", "instructions", "context", "client_tools", "directives"}
    assert not said & {*words, *words["message"]}


def test_fields_of_a_newer_release_are_ignored_and_missing_ones_take_their_default() -> None:
    assert decode_event("turn.resumed", 1, b'{"hue": "blue"}') == TurnResumed()


@pytest.mark.parametrize(
    ("kind", "version", "body", "named"),
    [
        ("session.dreamt", 1, b"{}", "session.dreamt"),
        ("turn.resumed", 2, b"{}", "version 2"),
        ("turn.resumed", 1, b"{", "damaged"),
        ("turn.resumed", 1, b"[]", "damaged"),
        ("session.setting", 1, b'{"name": "model"}', "SettingChanged"),
        ("turn.steered", 1, b'{"inputs": [{"item": 1, "at": 1, "parts": [{"kind": "smell"}]}]}', "smell"),
        ("turn.steered", 1, b'{"inputs": [{"item": 1, "at": 1, "parts": ["x"]}]}', "Steered"),
        ("session.compacted", 1, b'{"summary": "", "kept_from": "", "label": {"trust": "god"}}', "god"),
    ],
)
def test_what_this_release_cannot_read_is_refused_by_name(kind: str, version: int, body: bytes, named: str) -> None:
    with pytest.raises(StoreRefused, match=named):
        decode_event(kind, version, body)


@pytest.mark.parametrize("odd", ["\ud800", object(), {1: {2, object()}}])
def test_what_json_cannot_hold_is_refused(odd: Any) -> None:
    with pytest.raises(BadInput):
        encode({"odd": odd})


def test_the_mark_of_an_erasure_is_not_an_event_to_write() -> None:
    with pytest.raises(BadInput):
        encode_event(Erased(kind="x", digest="y"))


def test_older_events_are_lifted_one_version_at_a_time() -> None:
    def named_by(raw: dict[str, Any]) -> dict[str, Any]:
        return {"name": raw["setting"], "value": raw["value"]}

    def signed(raw: dict[str, Any]) -> dict[str, Any]:
        return {**raw, "by": "owner"}

    upcasters = {("session.setting", 1): named_by, ("session.setting", 2): signed}
    versions = {"session.setting": 3}
    expected = SettingChanged(name="model", value="x", by="owner")
    bodies = [b'{"setting": "model", "value": "x"}', b'{"name": "model", "value": "x"}', encode(expected)]
    lifted = [
        decode_event("session.setting", number, body, versions=versions, upcasters=upcasters)
        for number, body in enumerate(bodies, 1)
    ]
    assert lifted == [expected] * 3


def test_every_older_version_has_an_upcaster_and_no_upcaster_is_without_one() -> None:
    needed = {(kind, version) for kind, newest in VERSIONS.items() for version in range(1, newest)}
    assert set(UPCASTERS) == needed


def test_a_number_that_is_not_one_does_not_make_an_event_unreadable() -> None:
    body = (
        b'{"call_id": "c", "name": "n", "text": "", "is_error": false, "fate": "done",'
        b' "label": {"trust": "owner"}, "seconds": null}'
    )
    event = decode_event("tool.resulted", 1, body)
    assert isinstance(event, ToolResulted)
    assert math.isnan(event.seconds)
