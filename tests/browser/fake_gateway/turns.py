"""Turns: what is asked decides what happens, see the package."""

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from tests.browser import fake_data, fake_house
from tests.browser.fake_gateway.wire import Refused, Socket

NAMES = ("Ana", "Ben", "Cleo")

if TYPE_CHECKING:
    from tests.browser.fake_gateway.gateway import FakeGateway


class Turns:
    def __init__(self, gateway: "FakeGateway") -> None:
        self.gateway = gateway

    async def _tell(self, key: str, payload: dict[str, Any]) -> None:
        await self.gateway.sessions.tell(key, payload)

    async def on_chat_send(self, socket: Socket, params: dict[str, Any]) -> Any:
        text = params["text"]
        if text.startswith("/"):
            return {"status": "answered", "item": None, "text": f"**{text}** is answered at once.\n\n- model: sonnet"}
        if "refuse" in text:
            raise Refused("BUSY", "Too many messages wait already.", hint="Wait until some are answered.")
        self.gateway.items += 1
        item = self.gateway.items
        task = asyncio.create_task(self.run_turn(params, item))
        self.gateway.tasks.add(task)
        task.add_done_callback(self.gateway.tasks.discard)
        if "reworded" in text:
            # The turn begins before the answer to the sending comes.
            await self.gateway.idle()
        return {"status": "accepted", "item": item}

    async def on_chat_abort(self, socket: Socket, params: dict[str, Any]) -> Any:
        conversation = self.gateway.sessions.conversation(params["key"])
        running = [turn for turn in conversation["turns"] if turn["status"] == "running"]
        for task in list(self.gateway.tasks):
            task.cancel()
        for turn in running:
            turn.update(status="aborted", reason="stopped")
            await self._tell(
                params["key"],
                {
                    "turn": turn["id"],
                    "state": "error",
                    "status": "aborted",
                    "reply": "",
                    "reason": "stopped",
                    "errorKind": "",
                    "partial": turn.get("shown", ""),
                },
            )
        conversation["running"] = False
        await self.gateway.sessions.tell_session(conversation)
        return {"turns": len(running), "queued": 0}

    async def run_turn(self, params: dict[str, Any], item: int) -> None:
        key, text = params["key"], params["text"]
        conversation = self.gateway.sessions.conversation(key, make=True)
        id = f"turn-{item}"
        said = "Said in other words." if "reworded" in text else text
        inputs = [{"text": said, "attachments": params.get("attachments", [])}]
        turn = fake_data.turn(id, time.time(), text, [], status="running", inputs=inputs)
        conversation["turns"].append(turn)
        conversation.update(running=True, updatedAt=time.time(), title=conversation["title"] or text[:60])
        await self._tell(
            key, {"turn": id, "state": "started", "items": [item], "inputs": inputs, "sender": "api:token", "at": turn["at"]}
        )
        await self.gateway.sessions.tell_session(conversation)
        if "fail" in text:
            turn.update(status="failed", reason="the provider answered 401", errorKind="auth")
            await self._tell(
                key,
                {
                    "turn": id,
                    "state": "error",
                    "status": "failed",
                    "reply": "",
                    "reason": turn["reason"],
                    "errorKind": "auth",
                    "partial": "",
                },
            )
            return
        if "ponder" in text:
            await self.gateway.thinking.wait()
        number, answer = 1, fake_data.STREAMED
        if "tools" in text:
            await self._call_tools(key, turn)
            number = 2
        if "write and run" in text or "ask three" in text:
            await self._act(key, turn, 3 if "ask three" in text else 1)
            number, answer = 2, fake_data.GREETED
        answer = text.removeprefix("echo ") if text.startswith("echo ") else answer
        await self._stream(key, turn, number, answer, is_slow="slow" in text)
        turn["steps"].append(fake_data.step(number, answer))
        turn.update(status="completed", reply=answer)
        conversation.update(running=False, updatedAt=time.time())
        answered = {
            "turn": id,
            "state": "answered",
            "step": number,
            "text": answer,
            "thinking": "",
            "model": "anthropic/claude-sonnet-5",
            "usage": fake_data.usage(10, 20, 0.01),
        }
        await self._tell(key, answered)
        await self._tell(
            key,
            {
                "turn": id,
                "state": "final",
                "status": "completed",
                "reply": answer,
                "usage": fake_data.usage(10, 20, 0.01),
                "model": "anthropic/claude-sonnet-5",
            },
        )
        await self.gateway.sessions.tell_session(conversation)

    async def _call_tools(self, key: str, turn: dict[str, Any]) -> None:
        made = fake_data.call(
            f"{turn['id']}-c", "read_file", '{"path":"notes/<img src=x>.md"}', "</script><script>document.title='owned'</script>"
        )
        facts = {"turn": turn["id"], "state": "tool", "step": 1, "id": made["id"], "name": made["name"]}
        await self._tell(
            key,
            {
                "turn": turn["id"],
                "state": "delta",
                "step": 1,
                "attempt": 1,
                "offset": 0,
                "text": "I look into the notes.",
                "stream": "thinking",
            },
        )
        await self._tell(key, {**facts, "phase": "started", "arguments": made["arguments"], "fate": "running"})
        await asyncio.sleep(self.gateway.pace * 20)
        await self._tell(key, {**facts, "phase": "ended", "fate": "done", "isError": False, "seconds": 0.2})
        turn["steps"].append(fake_data.step(1, "", thinking="I look into the notes.", calls=[made]))

    async def _act(self, key: str, turn: dict[str, Any], many: int) -> None:
        """Write a file, ask before running it, run what was allowed."""
        id = turn["id"]
        made = fake_data.call(
            f"{id}-w", "write", '{"path":"hello.py","content":"…"}', "Wrote hello.py (3 lines).",
            details={"path": "hello.py", "version": 1, "diff": fake_house.DIFF}, layer="profile",
        )  # fmt: skip
        calls = [made]
        turn["steps"].append(fake_data.step(1, "I write it and then run it.", calls=calls))
        step = {"turn": id, "step": 1}
        await self._tell(key, {**step, "state": "delta", "attempt": 1, "offset": 0, "text": "I write it", "stream": "assistant"})
        await self._tell_call(key, id, made, "started")
        self.gateway.house.wrote(id, "hello.py")
        await self._tell_call(key, id, made, "ended")
        rows = [fake_house.question(f"q{n}{id[-3:]}", key, id, f"python3 hello.py {NAMES[n]}") for n in range(many)]
        answers = {row["id"]: asyncio.get_running_loop().create_future() for row in rows}
        self.gateway.questions.update(answers)
        for row in rows:
            await self.gateway.house.ask(row)
        turn["status"] = "waiting"
        await self._tell(
            key, {"turn": id, "state": "waiting", "waitingFor": "approval", "callIds": [row["callId"] for row in rows]}
        )
        given = [await answers[row["id"]] for row in rows]
        turn["status"] = "running"
        await self._tell(key, {"turn": id, "state": "resumed"})
        for row, answer in zip(rows, given, strict=True):
            calls.append(await self._run_asked(key, id, row, answer))

    async def _run_asked(self, key: str, turn: str, row: dict[str, Any], answer: str) -> dict[str, Any]:
        ran = answer == "allowed"
        printed = "Hello, Ana\n[exit 0, 0.3 s]\n[files added out.txt]"
        call = fake_data.call(
            row["callId"], "exec", json.dumps(row["arguments"]),
            printed if ran else "Refused by a person.", state="done" if ran else "refused", isError=not ran,
            details={"code": 0, "seconds": 0.31, "changes": []} if ran else {}, layer="confirm",
            asked=[{"id": row["id"], "layers": row["layers"], "reason": row["reason"], "at": row["askedAt"],
                    "deadline": row["deadline"], "answer": answer, "by": "api:token"}],
        )  # fmt: skip
        if ran:
            await self._tell_call(key, turn, call, "started")
            for line in ("exec", "collecting …\n", "Hello, Ana\n"):
                await self._tell(key, {"turn": turn, "state": "progress", "step": 1, "id": call["id"], "text": line})
            await self.gateway.progress.wait()
        await self._tell_call(key, turn, call, "ended")
        return call

    async def _tell_call(self, key: str, turn: str, call: dict[str, Any], phase: str) -> None:
        facts = {"turn": turn, "state": "tool", "step": 1, "id": call["id"], "name": call["name"], "phase": phase}
        if phase == "started":
            await self._tell(key, {**facts, "arguments": call["arguments"], "fate": "running", "layer": call["layer"]})
            return
        ended = {name: call[name] for name in ("isError", "result", "seconds", "details")}
        await self._tell(key, {**facts, "fate": call["state"], **ended})

    async def _stream(self, key: str, turn: dict[str, Any], number: int, answer: str, *, is_slow: bool) -> None:
        half = len(answer) // 2
        for at in range(0, len(answer), 7):
            if is_slow and at - 7 < half <= at and int(turn["id"].rpartition("-")[2]) > self.gateway.released:
                await self.gateway.gate.wait()
            piece = answer[at : at + 7]
            turn["shown"] = answer[: at + 7]
            await self._tell(
                key,
                {
                    "turn": turn["id"],
                    "state": "delta",
                    "step": number,
                    "attempt": 1,
                    "offset": at,
                    "text": piece,
                    "stream": "assistant",
                },
            )
            await asyncio.sleep(self.gateway.pace)

    def answered(self, row: dict[str, Any], answer: str) -> None:
        waiting = self.gateway.questions.pop(row["id"], None)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)
