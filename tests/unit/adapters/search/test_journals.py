from itertools import count

from ostiary.adapters.search.journals import SEGMENT, stretches
from ostiary.contracts.content import Label, Text, Trust
from ostiary.contracts.events import Event, ModelAnswered, Noted, Recorded, Reset
from ostiary.contracts.model import Usage

OWNER = Label(trust=Trust.OWNER)
STRANGER = Label(trust=Trust.UNTRUSTED, sources=("web",))


def _answer(text: str, label: Label = OWNER) -> ModelAnswered:
    return ModelAnswered(step=1, parts=(Text(text=text, label=label),), stop="end", usage=Usage(), model="m")


def _recorded(*events: Event) -> list[Recorded]:
    return [
        Recorded(session="agent:main:main", seq=seq, turn="t", at=float(seq), event=event)
        for seq, event in zip(count(1), events, strict=False)
    ]


def test_lines_say_who_spoke_and_blank_ones_are_left_out() -> None:
    (part,), stays_open = stretches(
        _recorded(_answer("first\n\nsecond"), Noted(text="by the way", by="cron", label=OWNER)), open_length=0
    )
    assert part.text == "Assistant: first\nsecond\nAssistant: by the way\n"
    assert (part.first, part.last, stays_open) == (1, 2, True)


def test_a_reset_begins_another_segment_even_if_nothing_follows_yet() -> None:
    (part,), stays_open = stretches(_recorded(_answer("before"), Reset(reason="/new")), open_length=0)
    assert part.text == "Assistant: before\n"
    assert not stays_open


def test_a_segment_that_is_open_goes_on_and_a_full_one_does_not() -> None:
    events = _recorded(_answer("more"))
    assert stretches(events, open_length=10)[0][0].goes_on
    assert not stretches(events, open_length=SEGMENT)[0][0].goes_on


def test_a_segment_is_as_untrusted_as_the_least_trusted_word_in_it() -> None:
    (part,), _ = stretches(_recorded(_answer("mine"), _answer("theirs", STRANGER)), open_length=0)
    assert part.label is not None
    assert part.label.trust is Trust.UNTRUSTED
