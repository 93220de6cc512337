import asyncio
import sys

from tests.browser.fake_gateway import running


async def main(port: int) -> None:
    async with running(pace=0.02, port=port) as gateway:
        print(gateway.link(), flush=True)
        await asyncio.Event().wait()


asyncio.run(main(int(sys.argv[sys.argv.index("--port") + 1]) if "--port" in sys.argv else 0))
