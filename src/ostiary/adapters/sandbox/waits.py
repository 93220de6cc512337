"""For trees whose end has to be awaited: a task awaits it and tells it, as trees do."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio import CancelScope

from ostiary.adapters.sandbox.running import NeverBegan, Outcome
from ostiary.contracts.errors import SandboxUnavailable

Gone = Callable[[], Awaitable[tuple[int | None, int | None]]]
Over = Callable[[Outcome], None]
Until = Callable[[Gone, Over], None]


@asynccontextmanager
async def awaiting() -> AsyncIterator[Until]:
    """Gives what awaits an end and tells it. A caller who goes away does not cut that short; leaving this does."""
    shield = CancelScope(shield=True)
    # Kept out of the group, which would wrap it: the caller's own error is to arrive as it is.
    failure: Exception | None = None

    async def follow(gone: Gone, over: Over) -> None:
        with shield:
            try:
                how: Outcome = await gone()
            except (NeverBegan, SandboxUnavailable) as error:
                how = error
            over(how)

    async with anyio.create_task_group() as group:

        def until(gone: Gone, over: Over) -> None:
            group.start_soon(follow, gone, over)

        try:
            yield until
        except Exception as error:  # noqa: BLE001 - raised below
            failure = error
        finally:
            shield.cancel()
    if failure is not None:
        raise failure
