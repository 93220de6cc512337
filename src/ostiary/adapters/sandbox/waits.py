"""Waiting for a descriptor with one turn of the event loop and no more: each is a good part of a short command's time."""

import asyncio


async def readable(fd: int, seconds: float | None = None) -> bool:
    """Until there is something to read, or the process behind a pidfd has ended; False when it took too long.

    One waiter at a time for each descriptor."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[bool] = loop.create_future()
    loop.add_reader(fd, _tell, ready, True)
    timer = loop.call_later(seconds, _tell, ready, False) if seconds is not None else None
    try:
        return await ready
    finally:
        loop.remove_reader(fd)
        if timer is not None:
            timer.cancel()


def _tell(ready: "asyncio.Future[bool]", in_time: bool) -> None:
    if not ready.done():
        ready.set_result(in_time)
