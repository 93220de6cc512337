"""Whatever is decided, called, asked, let in or changed is in the audit log, by whichever way it came."""

import json
from collections.abc import AsyncIterator, Mapping
from http.client import HTTPConnection

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from ostiary.assembly.redteam.ground import Ground, open_ground, tired
from ostiary.assembly.redteam.throwaway import FRIEND
from ostiary.kit.models import call
from tests.journeys.gateway.house import Home
from tests.journeys.gateway.model import Model

ENVIRON = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


@pytest.fixture
async def ground(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Ground]:
    async with open_ground(tmp_path_factory.mktemp("none"), ENVIRON) as ground:
        await ground.begin()
        yield ground


async def rows(ground: Ground, kind: str, most: int = 1) -> list[tuple[str, str, str]]:
    """Who, about what, with which outcome; waited for, since some are noted soon and not at once."""
    log = ground.house.auditor.log
    with anyio.move_on_after(5):
        while len(await log.entries(kind=kind)) < most:
            await anyio.lowlevel.checkpoint()
    return [(each.actor, each.subject, each.outcome) for each in await log.entries(kind=kind)]


async def knock(ground: Ground, path: str, body: Mapping[str, object], token: str) -> int:
    port = int(ground.url.rpartition(":")[2])

    def knocked() -> int:
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
            connection.request("POST", path, json.dumps(body), headers)
            return connection.getresponse().status
        finally:
            connection.close()

    return await anyio.to_thread.run_sync(knocked)


@pytest.mark.proves("H14")
@pytest.mark.parametrize(
    ("tool", "arguments", "layer"),
    [
        ("gateway", {}, "offer"),
        ("no_such_tool", {}, "offer"),
        ("read", {"path": 7}, "arguments"),
        ("read", {"path": ".env"}, "guard"),
    ],
)
async def test_a_call_that_is_turned_away_is_written_down(
    ground: Ground, tool: str, arguments: dict[str, object], layer: str
) -> None:
    await ground.turn(call(tool, arguments))
    (entry,) = await ground.house.auditor.log.entries(kind="tool.decided")
    assert (entry.actor, entry.subject, entry.outcome, entry.detail["layer"]) == ("api:owner", tool, "deny", layer)
    assert await rows(ground, "tool.called", 0) == []


@pytest.mark.proves("H14")
async def test_a_question_its_answer_and_what_followed_are_written_down(ground: Ground) -> None:
    await ground.turn(call("deploy", {"to": "x"}), answer=tired)
    assert await rows(ground, "tool.decided", 2) == [("api:owner", "deploy", "ask"), ("api:owner", "deploy", "allow")]
    assert [(subject, outcome) for _, subject, outcome in await rows(ground, "approval.*", 2)] == [
        ("deploy", "asked"),
        ("deploy", "allowed"),
    ]
    assert await rows(ground, "tool.called") == [("api:owner", "deploy", "done")]


@pytest.mark.proves("H14")
async def test_a_friend_on_a_channel_acts_under_their_own_name(ground: Ground) -> None:
    ground.puppet.play([call("deploy", {"to": "x"})])
    await ground.said(ground.post, "Please do it.", sender_id=FRIEND)
    assert await rows(ground, "tool.decided") == [(f"redteam:{FRIEND}", "deploy", "deny")]


@pytest.mark.proves("H14")
async def test_who_came_in_by_http_and_who_did_not_is_written_down(ground: Ground) -> None:
    body = {"messages": [{"role": "user", "content": "Hello."}]}
    assert await knock(ground, "/v1/chat/completions", body, "wrong") == 401
    assert await knock(ground, "/v1/chat/completions", body, ground.copy.environ["REDTEAM_TOKEN"]) == 200
    assert await rows(ground, "login.failed") == [("127.0.0.1", "gateway", "refused")]
    assert await rows(ground, "login") == [("token", "token", "ok")]


@pytest.mark.proves("H14")
async def test_a_webhook_that_came_in_and_one_that_did_not_are_written_down(ground: Ground) -> None:
    assert await knock(ground, "/hooks/agent", {"message": "Hello."}, "wrong") == 401
    assert await knock(ground, "/hooks/agent", {"message": "Hello."}, ground.copy.environ["REDTEAM_HOOK_TOKEN"]) == 202
    assert await rows(ground, "login.failed") == [("127.0.0.1", "gateway", "refused")]
    assert await rows(ground, "login") == [("hook:agent", "webhook", "ok")]


@pytest.mark.proves("H14")
def test_what_was_changed_while_the_house_stood_still_is_written_down(home: Home, model: Model) -> None:
    model.begin("Hello.", "Hello again.")
    with home.up() as gateway:
        assert gateway.say("Hello.").status == 200
    home.run("config", "set", "logging.level", "warning")
    home.run("config", "secret", "set", "mail", stdin="s3cret-of-the-mail\n")
    with home.up() as gateway:
        assert gateway.say("Hello again.").status == 200
    told = [json.loads(line) for line in home.run("audit", "export", "--json").stdout.splitlines()]
    found = {(row["kind"], row["subject"], row["outcome"]) for row in told}
    assert {("credential.changed", "mail", "added"), ("config.changed", "ostiary.json5", "applied")} <= found
    assert ["logging.level"] in [row["detail"].get("keys") for row in told if row["kind"] == "config.changed"]
    assert "s3cret-of-the-mail" not in json.dumps(told)
    assert "audit.checkpoints" not in {row["kind"] for row in told}
    assert home.run("audit", "verify").returncode == 0
