"""Loopback servers that speak the embedding APIs and refuse what the originals would refuse."""

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from aiohttp import web

KEY = "sk-test-0123456789"
Body = dict[str, Any]


class Refused(Exception):
    pass


def numbers(text: str, length: int) -> list[float]:
    """A vector that depends on the text alone, not of length 1."""
    seed = hashlib.sha256(text.encode()).digest()
    return [float(seed[place % 32] - 127.5) for place in range(length)]


def only(body: Body, *allowed: str) -> None:
    if set(body) - set(allowed):
        raise Refused(f"Unknown fields: {sorted(set(body) - set(allowed))}")


def texts_of(body: Body, most: int) -> list[str]:
    texts = body["input"]
    if not isinstance(texts, list) or not 1 <= len(texts) <= most or not all(isinstance(text, str) and text for text in texts):
        raise Refused("input is not an array of non-empty strings")
    return texts


def openai(request: web.Request, body: Body) -> Body:
    only(body, "model", "input", "encoding_format", "dimensions", "user")
    if request.path != "/v1/embeddings" or request.headers.get("Authorization") != f"Bearer {KEY}":
        raise Refused("wrong path or key")
    length = body.get("dimensions", 1536)
    rows = [
        {"object": "embedding", "index": place, "embedding": numbers(text, length)}
        for place, text in enumerate(texts_of(body, 2048))
    ]
    # Nothing promises that they come in order.
    return {"object": "list", "data": rows[::-1], "model": body["model"], "usage": {"prompt_tokens": 1, "total_tokens": 1}}


def voyage(request: web.Request, body: Body) -> Body:
    only(body, "model", "input", "input_type", "truncation", "output_dimension", "output_dtype", "encoding_format")
    if request.path != "/v1/embeddings" or request.headers.get("Authorization") != f"Bearer {KEY}":
        raise Refused("wrong path or key")
    if body["input_type"] not in ("query", "document") or body.get("output_dimension", 1024) not in (256, 512, 1024, 2048):
        raise Refused("wrong input_type or output_dimension")
    length = body.get("output_dimension", 1024)
    rows = [
        {"object": "embedding", "embedding": numbers(text, length), "index": place}
        for place, text in enumerate(texts_of(body, 128))
    ]
    return {"object": "list", "data": rows, "model": body["model"], "usage": {"total_tokens": 9}}


def gemini(request: web.Request, body: Body) -> Body:
    only(body, "requests")
    model = request.path.removeprefix("/v1beta/").removesuffix(":batchEmbedContents")
    if not request.path.endswith(":batchEmbedContents") or request.headers.get("x-goog-api-key") != KEY:
        raise Refused("wrong path or key")
    made = []
    for one in body["requests"]:
        only(one, "model", "content", "taskType", "title", "outputDimensionality")
        if one["model"] != model:
            raise Refused("the model of a request is not that of the path")
        if one.get("taskType", "RETRIEVAL_QUERY") not in ("RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"):
            raise Refused("unknown taskType")
        made.append({"values": numbers(one["content"]["parts"][0]["text"], one.get("outputDimensionality", 3072))})
    if not 1 <= len(made) <= 100:
        raise Refused("at most 100 requests can be in one batch")
    return {"embeddings": made}


def ollama(request: web.Request, body: Body) -> Body:
    only(body, "model", "input", "truncate", "dimensions", "keep_alive", "options")
    if request.path != "/api/embed":
        raise Refused("wrong path")
    made = [numbers(text, body.get("dimensions", 768)) for text in texts_of(body, 10_000)]
    return {"model": body["model"], "embeddings": made, "total_duration": 1, "load_duration": 1, "prompt_eval_count": 1}


Answer = web.Response | Callable[[Body], Body]


class Server:
    """Answers from `script` while there is something in it: a whole response, or a change to the proper answer."""

    def __init__(self, speak: Callable[[web.Request, Body], Body]) -> None:
        self._speak = speak
        self.url = ""
        self.bodies: list[Body] = []
        self.script: list[Answer] = []
        self.gate: anyio.Event | None = None
        self.waiting = anyio.Semaphore(0)
        self.at_once = 0
        self.most_at_once = 0

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.bodies.append(body)
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        self.waiting.release()
        try:
            if self.gate is not None:
                await self.gate.wait()
            return self._answer(request, body)
        finally:
            self.at_once -= 1

    def _answer(self, request: web.Request, body: Body) -> web.Response:
        scripted = self.script.pop(0) if self.script else None
        if isinstance(scripted, web.Response):
            return scripted
        try:
            answer = self._speak(request, body)
        except Refused as refused:
            return web.json_response({"error": {"message": str(refused)}}, status=400)
        return web.json_response(scripted(answer) if scripted is not None else answer)


@asynccontextmanager
async def serving(speak: Callable[[web.Request, Body], Body]) -> AsyncIterator[Server]:
    server = Server(speak)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/{path:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield server
    finally:
        await runner.cleanup()
