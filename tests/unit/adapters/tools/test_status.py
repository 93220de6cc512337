from zoneinfo import ZoneInfo

from tests.conformance.tools.tools import STRANGER, context, view

from ostiary.adapters.tools.status import SessionStatus
from ostiary.contracts.engine import SessionView
from ostiary.contracts.errors import UnknownSession
from ostiary.contracts.identity import SessionKey
from ostiary.kit.clock import ManualClock

VIENNA = ZoneInfo("Europe/Vienna")
TIME = "Time: Friday 2027-01-15 09:00 CET"


async def test_the_owner_is_told_the_time_and_what_the_conversation_used() -> None:
    result = await SessionStatus(clock=ManualClock(), zone=VIENNA, view=view).call({}, context())
    assert result.text.split("\n") == [
        TIME,
        "Session: agent:main:main",
        "Model: openai/gpt-x",
        "Turns: 4, messages: 9, context: about 5,100 tokens",
        "Tokens: 6,200 in, 5,000 from cache, 300 out; cost: $0.0123",
    ]


async def test_others_are_told_the_time_alone() -> None:
    assert (await SessionStatus(clock=ManualClock(), zone=VIENNA, view=view).call({}, STRANGER)).text == TIME


async def test_where_the_agent_may_not_know_its_model_only_the_time_is_told() -> None:
    status = SessionStatus(clock=ManualClock(), zone=VIENNA, view=view, shows_session=False)
    assert (await status.call({}, context())).text == TIME


async def test_the_time_is_told_even_if_the_session_cannot_be_read() -> None:
    async def unknown(session: SessionKey) -> SessionView:
        raise UnknownSession(f"{session} is not known")

    result = await SessionStatus(clock=ManualClock(), zone=VIENNA, view=unknown).call({}, context())
    assert result.text.split("\n") == [TIME, "Session: agent:main:main", "Usage: not available"]
