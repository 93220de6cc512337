"""What the pretended house holds: a few conversations, models, devices, logs and figures to look at."""

import time
from typing import Any

CODE = '''Here is a small web server that answers with the time, and nothing else:

```python
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer


class Clock(BaseHTTPRequestHandler):
    """Answers every GET with the time in UTC."""

    def do_GET(self) -> None:
        body = datetime.now(timezone.utc).isoformat().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


HTTPServer(("127.0.0.1", 8000), Clock).serve_forever()
```

A few things worth knowing:

- It listens on **loopback only**, so nobody else on the network can reach it.
- `serve_forever` blocks; stop it with `Ctrl+C`.
- For anything serious, put a real server in front.

| Option | Default | What it changes |
|:--|--:|:--|
| host | `127.0.0.1` | who can reach it |
| port | `8000` | where it listens |
'''

TRIP = """The night train is the better choice if you count the hotel: you save a night and arrive rested.

1. **Night train**: leaves 21:58, arrives 08:12, from about €70 with a couchette.
2. **Flight**: two hours in the air, but four and a half from door to door.

> Prices are from the operator's page as of this morning; they move.

I put both into your calendar as *options*, nothing is booked. See [the timetable](https://example.org/timetable).
"""

STREAMED = (
    "Of course. Three things make a page feel **fast**:\n\n"
    "1. The first paint comes before anything is asked for.\n"
    "2. What you type is never waited for.\n"
    "3. Nothing moves while you read it.\n\n"
    "```js\nconst soon = () => requestAnimationFrame(draw);\n```\n\n"
    "That is all there is to it.\n"
)


GREETED = "It works: **Hello, Ana**. The program is `hello.py`; *Undo* takes it away again.\n"


def usage(input: int = 0, output: int = 0, cost: float | None = 0.0, cached: int = 0) -> dict[str, Any]:
    return {"input": input, "output": output, "cacheRead": cached, "cacheWrite": 0, "cost": cost}


def step(number: int, text: str = "", *, thinking: str = "", calls: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {
        "step": number,
        "model": "anthropic/claude-sonnet-5",
        "text": text,
        "thinking": thinking,
        "calls": calls or [],
        "usage": usage(1200, 340, 0.009),
        "seconds": 3.4,
    }


def turn(id: str, at: float, text: str, steps: list[dict[str, Any]], **other: Any) -> dict[str, Any]:
    return {
        "id": id,
        "at": at,
        "status": "completed",
        "sender": "api:token",
        "inputs": [{"text": text, "attachments": []}],
        "steps": steps,
        "reply": steps[-1]["text"] if steps else "",
        "reason": "",
        "errorKind": "",
        "usage": usage(2400, 680, 0.018, 9000),
        **other,
    }


def call(id: str, name: str, arguments: str, result: str, **other: Any) -> dict[str, Any]:
    return {
        "id": id,
        "name": name,
        "arguments": arguments,
        "state": "done",
        "result": result,
        "isError": False,
        "seconds": 0.8,
        **other,
    }


def conversations(now: float | None = None) -> dict[str, dict[str, Any]]:
    now = now or time.time()
    day = 86400
    trip = [
        step(
            1,
            "",
            thinking="They want Vienna next Friday. I should compare the night train with the flight, door to door.",
            calls=[
                call("c1", "web_search", '{"query":"night train Zürich Vienna timetable"}', "3 results\n1. timetable …"),
                call("c2", "web_fetch", '{"url":"https://example.org/timetable"}', "Departs 21:58, arrives 08:12"),
                call(
                    "c3",
                    "shell",
                    '{"command":"curl https://example.org"}',
                    "refused: network is not allowed here",
                    state="refused",
                    isError=True,
                    seconds=0.01,
                ),
            ],
        ),
        step(2, TRIP),
    ]
    rows = [
        (
            "agent:main:main",
            "Planning the trip to Vienna",
            now - 200,
            [turn("t1", now - 260, "What is the best way to Vienna next Friday?", trip)],
        ),
        (
            "agent:main:webchat:direct:clock",
            "A web server that tells the time",
            now - 4000,
            [turn("t2", now - 4200, "Write me the smallest web server that tells the time.", [step(1, CODE)])],
        ),
        (
            "agent:main:webchat:direct:failed",
            "Quarterly figures",
            now - day - 2000,
            [
                turn(
                    "t3",
                    now - day - 2100,
                    "Add up the figures of the attached table.",
                    [],
                    status="failed",
                    reason="anthropic answered 429: too many requests",
                    errorKind="rate_limit",
                )
            ],
        ),
        ("agent:main:telegram:direct:4711", "Groceries", now - 2 * day, []),
        ("agent:main:cron:morning", "Morning briefing", now - 2.2 * day, []),
        ("agent:main:webchat:direct:poem", "A poem about doors & <b>keys</b>", now - 5 * day, []),
        ("agent:main:matrix:group:lab", "Lab notebook", now - 12 * day, []),
        ("agent:main:webchat:direct:old", "Reading list for the winter", now - 40 * day, []),
    ]
    return {
        key: {
            "key": key,
            "title": title,
            "createdAt": at - 1000,
            "updatedAt": at,
            "turns": turns,
            "settings": {},
            "running": False,
            "queued": 0,
            "waitingFor": "",
        }
        for key, title, at, turns in rows
    }


def _model(ref: str, name: str, window: int, **facts: Any) -> dict[str, Any]:
    base = {"ref": ref, "name": name, "contextWindow": window, "reasons": True, "seesImages": True, "alias": ""}
    return {**base, "current": False, "usable": True, **facts}


MODELS = [
    _model("anthropic/claude-sonnet-5", "Claude Sonnet 5", 200_000, alias="sonnet", current=True),
    _model("anthropic/claude-opus-5", "Claude Opus 5", 200_000, alias="opus"),
    _model("openai/gpt-5.2", "GPT-5.2", 400_000, usable=False),
    _model("openai/gpt-5.2-mini", "GPT-5.2 mini", 400_000, usable=False, reasons=False),
    _model("google/gemini-3-flash", "Gemini 3 Flash", 1_000_000, alias="flash"),
    _model("embedded/smollm3", "SmolLM3, on this machine", 8192, reasons=False, seesImages=False, alias="local"),
]
COMMANDS = [
    {"name": "new", "summary": "Begin a new conversation", "usage": "/new [model] [text]", "aliases": []},
    {"name": "model", "summary": "See or change the model", "usage": "/model [name]", "aliases": []},
    {"name": "models", "summary": "The models to choose from", "usage": "/models", "aliases": []},
    {"name": "status", "summary": "Model, context, what is running", "usage": "/status", "aliases": []},
    {"name": "stop", "summary": "Stop the run and clear the queue", "usage": "/stop", "aliases": ["abort"]},
    {"name": "think", "summary": "How long to think before answering", "usage": "/think [level]", "aliases": ["t"]},
]
PROFILES = [
    {
        "id": "anthropic:default",
        "provider": "anthropic",
        "kind": "api_key",
        "masked": "sk-a…9f3K",
        "expires": 0,
        "standing": "ready",
    },
    {
        "id": "google:work",
        "provider": "google",
        "kind": "oauth",
        "masked": "ya29…w1",
        "expires": 1900000000,
        "standing": "resting",
    },
]


def events(now: float) -> list[dict[str, Any]]:
    label = {"trust": "owner", "sources": ["webchat"], "private": False}
    rows: list[tuple[str, dict[str, Any]]] = [
        (
            "turn.started",
            {
                "inputs": [
                    {
                        "item": 7,
                        "at": now,
                        "sender": "api:token",
                        "parts": [{"kind": "text", "text": "What is the best way to Vienna?", "label": label}],
                    }
                ],
                "principal": {"user": {"channel": "api", "stable_id": "token"}, "role": "owner"},
                "lane": "main",
                "generation": 3,
            },
        ),
        ("session.prefix", {"digest": "9f2c61d0aa", "schemas": "77aa01be12", "reason": "first turn", "report": {}}),
        (
            "model.requested",
            {
                "step": 1,
                "model": "anthropic/claude-sonnet-5",
                "thinking": "low",
                "prefix": "9f2c61d0aa",
                "schemas": "77aa01be12",
                "history": "0be411fa02",
                "messages": 5,
                "characters": 18422,
            },
        ),
        (
            "model.answered",
            {
                "step": 1,
                "parts": [
                    {"kind": "thinking", "text": "Compare the night train with the flight."},
                    {"kind": "call", "id": "c1", "name": "web_search", "arguments": '{"query":"night train Vienna"}'},
                ],
                "stop": "tool_use",
                "usage": {"input": 1200, "output": 90, "cache_read": 9000, "cache_write": 0, "cost": 0.006},
                "model": "anthropic/claude-sonnet-5",
                "profile": "anthropic:default",
                "seconds": 2.1,
            },
        ),
        (
            "tool.intended",
            {
                "call_id": "c1",
                "name": "web_search",
                "arguments": '{"query":"night train Vienna"}',
                "call_key": "k1",
                "repeatable": True,
                "layer": "profile",
                "reason": "READ and NETWORK are allowed for the owner",
            },
        ),
        (
            "tool.resulted",
            {
                "call_id": "c1",
                "name": "web_search",
                "text": "1. Nightjet 466 …\n2. Flights from 90 €",
                "is_error": False,
                "fate": "done",
                "label": {"trust": "untrusted", "sources": ["web"], "private": False},
                "details": {"results": 2},
                "seconds": 0.83,
            },
        ),
        (
            "tool.resulted",
            {
                "call_id": "c3",
                "name": "shell",
                "text": "EXECUTE with network is not allowed after reading the web",
                "is_error": True,
                "fate": "refused",
                "label": label,
                "details": {"layer": "taint"},
                "seconds": 0.0,
            },
        ),
        (
            "model.answered",
            {
                "step": 2,
                "parts": [{"kind": "text", "text": TRIP}],
                "stop": "stop",
                "usage": {"input": 1400, "output": 310, "cache_read": 10400, "cache_write": 0, "cost": 0.012},
                "model": "anthropic/claude-sonnet-5",
                "profile": "anthropic:default",
                "seconds": 4.9,
            },
        ),
        ("turn.ended", {"status": "completed", "reason": "", "error_kind": "", "partial": "", "reply": TRIP}),
    ]
    return [
        {"seq": i + 1, "turn": "" if kind.startswith("session.") else "t1", "at": now + i * 1.3, "kind": kind, **facts}
        for i, (kind, facts) in enumerate(rows)
    ]


def usage_rows(by: str, now: float) -> list[dict[str, Any]]:
    def row(key: str, weight: float) -> dict[str, Any]:
        return {
            "key": key,
            "turns": int(12 * weight) + 1,
            "cost": round(0.42 * weight, 4),
            "input": int(21_000 * weight),
            "output": int(7_000 * weight),
            "cacheRead": int(90_000 * weight),
            "cacheWrite": 0,
        }

    if by == "model":
        return [row("anthropic/claude-sonnet-5", 9), row("google/gemini-3-flash", 4), row("embedded/smollm3", 1.5)]
    if by == "session":
        return [row(key, 1 + i % 4) for i, key in enumerate(conversations(now))]
    days = [time.strftime("%Y-%m-%d", time.gmtime(now - 86400 * i)) for i in range(29, -1, -1)]
    return [row(day, (i * 7919 % 13) / 6 + 0.1) for i, day in enumerate(days) if i % 9 != 4]


LOG_LINES = [
    ("info", "ostiary.gateway", "listening on http://127.0.0.1:18789"),
    ("info", "ostiary.core.routing", "session agent:main:main: turn t1 began"),
    ("debug", "ostiary.adapters.models", "anthropic/claude-sonnet-5: 5 messages, 18422 characters"),
    ("warning", "ostiary.adapters.models", "anthropic answered 429; asked again in 2 s"),
    ("error", "ostiary.core.agent", "turn t3 failed: rate_limit"),
    ("info", "ostiary.gateway.auth", "browser Chrome on Linux signed in by a one-time link"),
]

CHANNELS = [
    {"id": "telegram", "state": "running", "detail": "@anas_bot"},
    {"id": "matrix", "state": "stopped", "detail": "no account"},
]
CONFIG = """{
  // The owner of this house
  agents: { defaults: { model: { primary: "sonnet" } } },
  gateway: { port: 18789 },
}
"""
