"""Waiting for a descriptor, with one turn of the event loop and no more: each would be a tenth of a short command's time."""

import asyncio


async def readable(fd: int) -> None:
    """Until there is something to read, or the process behind a pidfd has ended. One waiter for each descriptor."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, _tell, ready)
    try:
        await ready
    finally:
        loop.remove_reader(fd)


def _tell(ready: "asyncio.Future[None]") -> None:
    if not ready.done():
        ready.set_result(None)
