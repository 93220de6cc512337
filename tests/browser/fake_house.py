"""The pretended house's rules: questions and grants, changed files, control, the audit log."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from ostiary.gateway.protocol import approvals, audit, changes, control, policy
from ostiary.gateway.protocol.shape import Nothing

Broadcast = Callable[[str, dict[str, Any]], Awaitable[None]]


PARAMS: dict[str, Any] = {
    "approvals.list": Nothing,
    "approvals.answer": approvals.AnswerApproval,
    "grants.list": Nothing,
    "grants.revoke": approvals.RevokeGrant,
    "changes.list": changes.ListChanges,
    "changes.undo": changes.UndoTurn,
    "session.trust": changes.TrustSession,
    "turns.rerun": changes.RerunTurn,
    "policy.explain": policy.ExplainPolicy,
    "tools.list": policy.ListTools,
    "control.status": Nothing,
    "control.wake": control.Move,
    "control.sleep": control.Move,
    "control.kill": control.Kill,
    "control.enable": control.Enable,
    "control.disable": control.Disable,
    "audit.list": audit.ListAudit,
    "audit.verify": Nothing,
}

LAYERS = ("profile", "tools", "agent", "group", "sender", "role", "sandbox", "switch", "guard", "confirm", "taint")
TOOLS = [
    ("read", "Read a file of the workspace.", ["read"], True, "visible", "profile", ""),
    ("write", "Write a file of the workspace.", ["write"], True, "visible", "profile", ""),
    ("exec", "Run a shell command in the sandbox.", ["execute"], False, "asked", "confirm", "it cannot be taken back"),
    ("web_fetch", "Read a page of the web.", ["read", "network"], False, "visible", "profile", ""),
    ("message", "Send a message to somebody.", ["send"], False, "asked", "confirm", "it cannot be taken back"),
    ("browser", "Use a real browser.", ["network", "send"], False, "hidden", "switch", "switched off; /enable browser"),
]
DIFF = """--- /dev/null
+++ hello.py
@@ -0,0 +1,3 @@
+import sys
+
+print("Hello,", sys.argv[1] if len(sys.argv) > 1 else "world")
"""
CONFIG_DIFF = "--- notes.md\n+++ notes.md\n@@ -1,30 +1,30 @@\n" + "".join(
    f" line {n}\n" if n % 3 else f"-old line {n}\n+new line {n}\n" for n in range(1, 31)
)


def question(id: str, key: str, turn: str, command: str, **more: Any) -> dict[str, Any]:
    now = time.time()
    text = f"exec\ncommand: {command}\ncwd: /workspace\nfile:hello.py: 5f1c…"
    return {
        "id": id, "key": key, "turn": turn, "callId": f"{turn}-{id}", "tool": "exec", "text": text,
        "arguments": {"command": command}, "bound": {"cwd": "/workspace"}, "layers": ["confirm"],
        "reason": "a command can do what cannot be taken back",
        "offers": [{"pattern": command, "text": command}, {"pattern": "python3 *", "text": "python3 *"}],
        "group": "main owner exec: python3 *", "askedAt": now, "deadline": now + 300, "who": "api:token", "channel": "webchat",
        "trust": "owner", "private": False, "sources": [], **more,
    }  # fmt: skip


class FakeHouse:
    """`broadcast(event, payload)` reaches every socket; `resume(row, answer)` is called when a question was answered."""

    def __init__(self, broadcast: Broadcast) -> None:
        self.broadcast = broadcast
        self.waiting: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []
        self.grants: list[dict[str, Any]] = []
        self.files: dict[str, list[dict[str, Any]]] = {}
        self.undone: list[str] = []
        self.trusted: list[str] = []
        self.rerun: list[dict[str, Any]] = []
        self.state = "awake"
        self.switches: list[dict[str, Any]] = []
        self.entries = [entry(n) for n in range(1, 41)]
        self.broken = ""
        self.unfinished: list[str] = []
        self.resume: Callable[[dict[str, Any], str], None] = lambda row, answer: None

    async def ask(self, row: dict[str, Any]) -> None:
        self.waiting = [each for each in self.waiting if each["callId"] != row["callId"]] + [row]
        await self.broadcast("approval", {"state": "asked", "approval": row})

    async def settle(self, row: dict[str, Any], answer: str, *, by: str = "", note: str = "", grant: str = "") -> None:
        self.waiting = [each for each in self.waiting if each["id"] != row["id"]]
        facts = {"id": row["id"], "key": row["key"], "turn": row["turn"], "callId": row["callId"]}
        said = {**facts, "answer": answer, "by": by, "grant": grant, "note": note}
        self.answers.append(said)
        await self.broadcast("approval", {"state": "answered", **said})
        self.resume(row, answer)

    async def on_approvals_list(self, params: dict[str, Any]) -> Any:
        return {"approvals": self.waiting, "groups": []}

    async def on_approvals_answer(self, params: dict[str, Any]) -> Any:
        row = next((each for each in self.waiting if each["id"] == params["id"]), None)
        if row is None:
            raise KeyError(f"{params['id']} was answered already.")
        grant = ""
        if params.get("pattern"):
            grant = f"grant-{len(self.grants) + 1}"
            now = time.time()
            self.grants.insert(
                0,
                {"id": grant, "tool": row["tool"], "pattern": params["pattern"], "fixed": {}, "agent": "main", "who": "api:token",
                 "until": now + params["seconds"], "by": "api:token", "givenAt": now},
            )  # fmt: skip
        answer = "allowed" if params["allow"] else "denied"
        await self.settle(row, answer, by="api:token", grant=grant)
        return {"id": row["id"], "answer": answer, "by": "api:token", "grant": grant, "also": []}

    async def on_grants_list(self, params: dict[str, Any]) -> Any:
        return {"grants": self.grants}

    async def on_grants_revoke(self, params: dict[str, Any]) -> Any:
        found = next(grant for grant in self.grants if grant["id"] == params["id"])
        self.grants.remove(found)
        return found

    def wrote(self, turn: str, path: str, diff: str = DIFF, **more: Any) -> None:
        added = sum(line.startswith("+") for line in diff.splitlines()[2:])
        removed = sum(line.startswith("-") for line in diff.splitlines()[2:])
        self.files.setdefault(turn, []).append(
            {"path": path, "collection": "main", "change": "added", "before": 0, "after": 1, "size": 80, "added": added,
             "removed": removed, "diff": diff, "note": "", "current": True, "undone": False, **more}
        )  # fmt: skip

    async def on_changes_list(self, params: dict[str, Any]) -> Any:
        found = self.files.get(params.get("turn", ""), [])
        return {"turns": [{"turn": params["turn"], "at": time.time(), "files": found}] if found else []}

    async def on_changes_undo(self, params: dict[str, Any]) -> Any:
        files = self.files[params["turn"]]
        self.undone.append(params["turn"])
        can = [file for file in files if file["current"]]
        for file in can:
            file["current"], file["undone"] = False, True
        return {
            "turn": params["turn"],
            "restored": [file["path"] for file in can if file["before"]],
            "deleted": [file["path"] for file in can if not file["before"]],
            "conflicts": [f"{file['path']} was changed since" for file in files if file not in can],
        }

    async def on_session_trust(self, params: dict[str, Any]) -> Any:
        self.trusted.append(params["key"])
        return {"ok": True}

    async def on_turns_rerun(self, params: dict[str, Any]) -> Any:
        self.rerun.append(params)
        return {"key": "agent:main:webchat:direct:clock", "item": 1}

    async def on_policy_explain(self, params: dict[str, Any]) -> Any:
        tainted = params.get("tainted") and params.get("private")
        says = {
            "profile": ("allow", "the posture personal has every built-in tool"),
            "confirm": ("ask", "a command can do what cannot be taken back"),
            "taint": ("deny", "text from outside and private things together") if tainted else ("pass", ""),
        }
        decides = "taint" if tainted else "confirm" if params["tool"] == "exec" else "profile"
        steps = [
            {"layer": layer, "outcome": says.get(layer, ("pass", ""))[0], "reason": says.get(layer, ("", ""))[1],
             "decides": layer == decides}
            for layer in LAYERS
        ]  # fmt: skip
        outcome, reason = says[decides]
        return {
            "tool": params["tool"], "who": params["who"], "role": "owner", "channel": params.get("channel") or "webchat",
            "session": "agent:main:main", "effects": ["execute"], "visible": True, "outcome": outcome, "layer": decides,
            "reason": reason, "steps": steps,
            "change": f"The layer {decides} decides.", "notes": ["exec takes no such argument."],
        }  # fmt: skip

    async def on_tools_list(self, params: dict[str, Any]) -> Any:
        names = ("name", "description", "effects", "undoable", "standing", "layer", "reason")
        return {"tools": [{**dict(zip(names, row, strict=True)), "ownerOnly": False} for row in TOOLS]}

    async def on_control_status(self, params: dict[str, Any]) -> Any:
        state = "action_pending" if self.state == "awake" and self.waiting else self.state
        on = {row["pattern"] for row in self.switches if row["on"]}
        tools = [
            {"name": name, "outcome": "ask" if name in on else "deny", "reason": "" if name in on else "switched off",
             "on": name in on, "until": 0.0}
            for name in ("exec", "message", "browser")
        ]  # fmt: skip
        now = time.time()
        return {
            "state": state, "since": now - 900, "by": "api:token", "reason": "the page", "sleepsAt": now + 1500,
            "switches": self.switches, "generation": 1, "unfinished": self.unfinished, "tools": tools,
        }  # fmt: skip

    async def changed_elsewhere(self, state: str) -> None:
        """Somebody moved the house at another page, a channel or the terminal."""
        self.state = state
        await self.broadcast("house", {**await self.on_control_status({}), "tools": []})

    async def on_control_wake(self, params: dict[str, Any]) -> Any:
        self.state, self.switches = "awake", []
        return await self.on_control_status({})

    async def on_control_sleep(self, params: dict[str, Any]) -> Any:
        self.state, self.switches = "dormant", []
        return stopped(processes=1)

    async def on_control_kill(self, params: dict[str, Any]) -> Any:
        self.state, self.switches = "shutdown", []
        return stopped(turns=2, queued=1, processes=3)

    async def on_control_enable(self, params: dict[str, Any]) -> Any:
        seconds = params.get("seconds", 3600.0)
        until = time.time() + seconds if seconds else 0.0
        named = set(params["patterns"])
        self.switches = [row for row in self.switches if row["pattern"] not in named]
        self.switches += [{"pattern": name, "until": until, "on": True} for name in params["patterns"]]
        return {"switches": self.switches, "generation": 2}

    async def on_control_disable(self, params: dict[str, Any]) -> Any:
        named = params.get("patterns") or [row["pattern"] for row in self.switches]
        self.switches = [row for row in self.switches if row["pattern"] not in named]
        return {"switches": self.switches, "generation": 3}

    async def on_audit_list(self, params: dict[str, Any]) -> Any:
        kind, limit = params.get("kind", ""), params.get("limit", 100)
        start = kind.removesuffix("*")
        rows = [
            each
            for each in self.entries
            if each["seq"] > params.get("after", 0)
            and (each["kind"].startswith(start) if kind.endswith("*") else not kind or each["kind"] == kind)
        ]
        return {"entries": rows[-limit:] if params.get("newest") else rows[:limit], "head": len(self.entries)}

    async def on_audit_verify(self, params: dict[str, Any]) -> Any:
        return {"ok": not self.broken, "problem": self.broken, "entries": len(self.entries), "chain": "ff"}


def stopped(**counts: int) -> dict[str, Any]:
    return {
        "turns": 0,
        "queued": 0,
        "processes": 0,
        "sends": 0,
        "jobs": 0,
        "grants": 0,
        "seconds": 0.18,
        "unfinished": [],
        **counts,
    }


_KINDS: list[tuple[str, str, str, dict[str, Any]]] = [
    ("tool.decided", "exec", "ask", {"layer": "confirm", "reason": "a command can do what cannot be taken back"}),
    ("approval.asked", "exec", "asked", {"approval": "k7fp", "layers": ["confirm"]}),
    ("approval.answered", "exec", "allowed", {"approval": "k7fp"}),
    ("tool.called", "exec", "ok", {"seconds": 0.4}),
    ("login", "Chrome on Linux", "ok", {}),
    ("tool.decided", "message", "deny", {"layer": "taint", "reason": "text from outside and private things together"}),
    ("control.enable", "exec", "done", {"until": 0}),
    ("config.changed", "gateway.port", "done", {"generation": 4}),
]


def entry(seq: int) -> dict[str, Any]:
    kind, subject, outcome, detail = _KINDS[seq % len(_KINDS)]
    where = {"session": "agent:main:main", "turn": "t1"} if kind.startswith(("tool", "approval")) else {}
    return {
        "seq": seq, "at": time.time() - 3000 + seq * 60, "kind": kind, "actor": "api:token", "subject": subject,
        "outcome": outcome, "detail": {**where, **detail}, "chain": f"{seq:064x}",
    }  # fmt: skip
