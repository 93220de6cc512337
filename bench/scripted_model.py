"""An OpenAI-wire server that asks for a tool first and then answers, and that shows what it was sent.

`python -m bench.scripted_model [--tool session_status]` prints `ready <url>`. A request whose last message is a tool's result is
answered with text; any other with a call of the tool, or with text if there is none. `GET /last` is the last body as it came.
"""

import argparse
import asyncio
import json
import sys

from aiohttp import web

_DONE = "The tool has answered."


class ScriptedModel:
    def __init__(self, tool: str, arguments: str) -> None:
        self._tool = tool
        self._arguments = arguments
        self._refused = 0
        self._last = b"{}"
        self._requests = 0

    async def complete(self, request: web.Request) -> web.Response:
        self._last = await request.read()
        self._requests += 1
        messages = json.loads(self._last)["messages"]
        calls = self._tool and messages[-1]["role"] != "tool"
        self._refused += messages[-1]["role"] == "tool" and "Refused" in str(messages[-1]["content"])
        delta: dict[str, object] = self._call() if calls else {"role": "assistant", "content": _DONE}
        events = [_chunk(delta, None), _chunk({}, "tool_calls" if calls else "stop"), _usage()]
        body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        return web.Response(text=body, content_type="text/event-stream")

    async def last(self, request: web.Request) -> web.Response:
        return web.Response(body=self._last, content_type="application/json")

    async def count(self, request: web.Request) -> web.Response:
        return web.json_response({"requests": self._requests, "refused": self._refused})

    def _call(self) -> dict[str, object]:
        function = {"name": self._tool, "arguments": self._arguments}
        return {"tool_calls": [{"index": 0, "id": f"call_{self._requests}", "type": "function", "function": function}]}


def _chunk(delta: dict[str, object], reason: str | None) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [choice]}


def _usage() -> dict[str, object]:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [],
        "usage": usage,
    }


async def serve(tool: str, arguments: str) -> None:
    """Until the process is ended."""
    model = ScriptedModel(tool, arguments)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/chat/completions", model.complete)
    app.router.add_get("/last", model.last)
    app.router.add_get("/count", model.count)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sys.stdout.write(f"ready http://127.0.0.1:{runner.addresses[0][1]}/v1\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-wire server that calls a tool and then answers.")
    parser.add_argument("--tool", default="")
    parser.add_argument("--arguments", default="{}")
    wanted = parser.parse_args()
    asyncio.run(serve(wanted.tool, wanted.arguments))


if __name__ == "__main__":
    main()
