import json
import stat
from pathlib import Path

from ostiary.gateway.run_file import run_file
from tests.unit.gateway.fakes import Client, FakeEngine, build_app


def test_it_says_where_the_gateway_is_to_its_owner_only(tmp_path: Path) -> None:
    with run_file(tmp_path) as run:
        run.announce("http://127.0.0.1:4000")
        path = tmp_path / "run" / "gateway.json"
        assert json.loads(path.read_text())["url"] == "http://127.0.0.1:4000"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.exists()


def test_it_is_left_alone_when_another_run_wrote_it(tmp_path: Path) -> None:
    with run_file(tmp_path) as old:
        old.announce("http://127.0.0.1:4000")
        with run_file(tmp_path) as new:
            new.announce("http://127.0.0.1:4001")
            old.announce("http://127.0.0.1:4000")
        assert (tmp_path / "run" / "gateway.json").exists()


async def test_its_token_opens_the_door_and_another_runs_does_not(tmp_path: Path) -> None:
    client = Client()
    with run_file(tmp_path) as run, run_file(tmp_path) as other:
        client.app = build_app(FakeEngine(), token=lambda: "lasting", run_token=run.token)
        ours = await client.call("GET", "/v1/models", headers={"authorization": f"Bearer {run.token}"})
        theirs = await client.call("GET", "/v1/models", headers={"authorization": f"Bearer {other.token}"})
    assert (ours.status, theirs.status) == (200, 401)


async def test_no_run_token_means_no_empty_token() -> None:
    client = Client()
    client.app = build_app(FakeEngine(), token=lambda: "lasting", run_token="")
    reply = await client.call("GET", "/v1/models", headers={"authorization": "Bearer "})
    assert reply.status == 401
