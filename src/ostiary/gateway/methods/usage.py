"""What was used and what it cost."""

from ostiary.contracts.identity import SessionKey
from ostiary.core.sessions.session import add_usage
from ostiary.gateway.methods.services import Call
from ostiary.gateway.methods.tallies import SESSIONS, Counted, day_of
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.protocol.usage import By, Summarise, UsageRow, UsageSummary

DAY = 86400.0


async def summarise(call: Call[Summarise]) -> UsageSummary:
    """Tokens and cost of the last days, by day, model, session or agent."""
    asked, services = call.params, call.services
    since = services.clock.now() - asked.days * DAY
    records = await services.store.sessions(limit=SESSIONS, include_ephemeral=True)
    recent = tuple(record for record in records if record.updated_at >= since)
    tallies = services.tallies
    is_whole = await tallies.bring_up_to_date(services.store, recent)
    first = day_of(since + DAY)
    sums: dict[str, Counted] = {}
    total = Counted()
    for record in recent:
        for (day, model), counted in tallies.of(record.key).items():
            if day >= first:
                key = _key(asked.by, record.key, day, model)
                for into in (sums.setdefault(key, Counted()), total):
                    into.usage, into.turns = add_usage(into.usage, counted.usage), into.turns + counted.turns
    ordered = sorted(sums.items()) if asked.by == "day" else sorted(sums.items(), key=lambda each: _weight(each[1]), reverse=True)
    return UsageSummary(
        rows=[_row(key, counted) for key, counted in ordered],
        total=_row("total", total),
        is_partial=not is_whole or len(records) == SESSIONS,
    )


def _key(by: By, session: SessionKey, day: str, model: str) -> str:
    match by:
        case "day":
            return day
        case "model":
            return model
        case "session":
            return str(session)
        case "agent":
            return session.agent


def _weight(counted: Counted) -> tuple[float, int]:
    usage = counted.usage
    return usage.cost or 0.0, usage.input + usage.output + usage.cache_read + usage.cache_write


def _row(key: str, counted: Counted) -> UsageRow:
    usage = counted.usage
    return UsageRow(
        key=key,
        turns=counted.turns,
        input=usage.input,
        output=usage.output,
        cache_read=usage.cache_read,
        cache_write=usage.cache_write,
        cost=usage.cost,
    )


METHODS = (Method("usage.summary", Summarise, UsageSummary, "read", summarise),)
