"""Runs on behalf of a program: accepted at once, answered when they end."""

from collections.abc import Mapping

import anyio
import msgspec

from ostiary.contracts.engine import Outcome
from ostiary.contracts.errors import UnknownSession
from ostiary.contracts.identity import SessionKey
from ostiary.core.routing.scopes import MAIN
from ostiary.gateway.methods.chat import directives_of, submission_of
from ostiary.gateway.methods.keys import speakable
from ostiary.gateway.methods.services import Call, Services
from ostiary.gateway.protocol.chat import Run, RunAccepted, RunEnded, Wait
from ostiary.gateway.protocol.errors import MethodError
from ostiary.gateway.protocol.registry import Method
from ostiary.gateway.socket.narration import usage_of

_SUMMARY = 200
_accepted = msgspec.json.Decoder(RunAccepted)
_WORDS: Mapping[str, str] = {"waiting": "It waits for somebody.", "completed": "Done."}


async def begin(call: Call[Run]) -> RunAccepted:
    """Begin a run. A second response with the same id tells how it ended; `agent` events tell of it meanwhile."""
    asked, services = call.params, call.services
    key = _session(services, asked)
    submission = submission_of(
        services,
        call.caller,
        key,
        asked.message,
        id=asked.idempotency_key,
        directives=directives_of(services, key, asked.model, asked.thinking),
    )
    accepted = await services.engine.submit(submission)
    if accepted.status == "dropped" or accepted.item is None:
        raise MethodError("FORBIDDEN", "This message may not be delivered.")
    run = f"run_{accepted.item}"
    if accepted.status == "answered":
        return RunAccepted(run_id=run, session_key=str(key), text=accepted.text)
    call.hub.runs.begun(accepted.item, run, call.connection)
    return RunAccepted(run_id=run, session_key=str(key))


async def follow(call: Call[Run], payload: bytes) -> RunEnded:
    """How it ended, or that it still runs when the caller's time is up."""
    accepted = _accepted.decode(payload)
    if accepted.text is not None:
        return RunEnded(run_id=accepted.run_id, status="ok", summary=_one_line(accepted.text), text=accepted.text)
    return await _ended(call.services, accepted.run_id, call.params.timeout_ms)


async def wait(call: Call[Wait]) -> RunEnded:
    """Wait for a run to end; running out of time does not stop it."""
    return await _ended(call.services, call.params.run_id, call.params.timeout_ms)


async def _ended(services: Services, run: str, timeout_ms: int) -> RunEnded:
    with anyio.move_on_after(timeout_ms / 1000):
        try:
            return ended_of(run, await services.engine.outcome(int(run.removeprefix("run_"))))
        except UnknownSession:
            raise MethodError("NOT_FOUND", f"There is no run {run}.") from None
    return RunEnded(run_id=run, status="timeout", summary="It still runs.")


def ended_of(run: str, outcome: Outcome) -> RunEnded:
    is_ok = outcome.status in ("completed", "waiting")
    said = outcome.text if is_ok else outcome.reason or outcome.text
    return RunEnded(
        run_id=run,
        status="ok" if is_ok else "error",
        summary=_one_line(said) or _WORDS.get(outcome.status, outcome.status),
        text=outcome.text,
        usage=usage_of(outcome.usage),
    )


def _session(services: Services, asked: Run) -> SessionKey:
    agents = services.agents()
    if asked.key:
        if asked.agent_id:
            raise MethodError(
                "INVALID_PARAMS", "Give key or agentId, not both.", details={"path": "agentId", "expected": "absent"}
            )
        return speakable(services, asked.key)
    agent = asked.agent_id or agents[0]
    if agent not in agents:
        raise MethodError("NOT_FOUND", f"There is no agent {agent[:80]!r}.")
    return SessionKey(agent, MAIN)


def _one_line(text: str) -> str:
    line = next((each.strip() for each in text.splitlines() if each.strip()), "")
    return line if len(line) <= _SUMMARY else f"{line[: _SUMMARY - 1]}…"


METHODS = (
    Method("agent", Run, RunAccepted, "chat", begin, has_effect=True, follow=follow, follow_result=RunEnded),
    Method("agent.wait", Wait, RunEnded, "read", wait, seconds=660.0),
)
