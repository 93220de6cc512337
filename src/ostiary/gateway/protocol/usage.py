"""What was used and what it cost."""

from typing import Annotated, Literal

from msgspec import Meta

from ostiary.gateway.protocol.shape import Params, Payload

By = Literal["day", "model", "session", "agent"]


class Summarise(Params):
    days: Annotated[int, Meta(ge=1, le=366)] = 30
    by: By = "day"


class UsageRow(Payload):
    """`key` is a day (UTC, YYYY-MM-DD), a model, a session or an agent. `cost` is USD, null when no price is known."""

    key: str
    turns: int
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost: float | None


class UsageSummary(Payload):
    """`isPartial`: there was more than one look takes in; ask again."""

    rows: list[UsageRow]
    total: UsageRow
    is_partial: bool = False
