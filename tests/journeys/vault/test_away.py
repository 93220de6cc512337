"""A vault in its own process, and what its clients see while it is away: clear errors, no other place, and it goes on."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostiary.kit.model_servers import Reply, Words
from tests.journeys.gateway.house import Answer, Gateway, Home, until
from tests.journeys.gateway.model import Model
from tests.journeys.vault.process import VaultHome, VaultProcess


def stored(home: Home) -> set[Path]:
    """Everything in the gateway's home that could hold what was said."""
    own = ("gateway.db", "credentials", "logs", "profiles", "run")
    files = {path for path in home.path.rglob("*") if path.is_file()}
    return {path for path in files if not path.relative_to(home.path).as_posix().startswith(own)}


@contextmanager
def home_and_vault(home: Home, vault_home: VaultHome) -> Iterator[tuple[Gateway, VaultProcess]]:
    with vault_home.serving() as vault, home.up() as gateway:
        yield gateway, vault


class Saying(threading.Thread):
    def __init__(self, gateway: Gateway, text: str) -> None:
        super().__init__(daemon=True)
        self._gateway = gateway
        self._text = text
        self.answer: Answer | None = None

    def run(self) -> None:
        self.answer = self._gateway.say(self._text, "anna")


def test_everything_lies_in_the_vault_and_nothing_beside_the_gateway(home: Home, vault_home: VaultHome, model: Model) -> None:
    model.begin("hello", "hello again")
    with vault_home.serving(), home.up() as gateway:
        assert gateway.say("hi", "anna").text == "hello"
        assert gateway.say("hi again", "anna").text == "hello again"
    assert [message["content"] for message in model.last["messages"] if message["role"] == "user"][-2:] == ["hi", "hi again"]
    assert (vault_home.path / "bots" / "main" / "store.db").exists()
    assert not (home.path / "bots").exists()


def test_while_the_vault_is_away_requests_are_refused_and_afterwards_served(
    home: Home, vault_home: VaultHome, model: Model
) -> None:
    model.begin("first", "second")
    with home_and_vault(home, vault_home) as (gateway, vault):
        assert gateway.say("one", "anna").text == "first"
        before = stored(home)
        vault.kill()
        refused = gateway.say("two", "anna")
        assert (refused.status, refused.code) == (503, "store_unavailable")
        assert "does not answer" in refused.error
        assert "retry-after" in refused.headers
        ready = gateway.call("GET", "/readyz")
        assert (ready.status, ready.json["missing"]) == (503, ["store"])
        assert stored(home) == before
        assert not (home.path / "bots").exists()
        with vault_home.serving():
            until(lambda: gateway.call("GET", "/readyz").status == 200)
            assert gateway.say("two", "anna").text == "second"


def test_a_turn_under_way_when_the_vault_is_killed_is_answered_when_it_is_back(
    home: Home, vault_home: VaultHome, model: Model
) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("half an ", "answer")),), holds={2: gate}), "a whole answer", "a whole answer")
    with home_and_vault(home, vault_home) as (gateway, vault):
        saying = Saying(gateway, "tell me")
        saying.start()
        model.wait_asked()
        vault.kill()
        model.release(gate)
        with vault_home.serving():
            saying.join(40)
            assert saying.answer is not None
            assert saying.answer.text in ("half an answer", "a whole answer")
            history = gateway.call("GET", "/v1/ostiary/sessions").json["sessions"]
            assert len(history) == 1


def test_a_gateway_without_its_vault_says_so_and_does_not_start(home: Home, vault_home: VaultHome) -> None:
    done = home.run("up", "--port", "0", seconds=60)
    assert done.returncode == 1
    assert f"the vault at {vault_home.url} does not answer" in done.stderr
    assert "ostiary vault serve" in done.stderr
    assert not (home.path / "bots").exists()


def test_two_processes_never_hold_one_vault(vault_home: VaultHome) -> None:
    with vault_home.serving():
        second = vault_home.begin("--socket", str(vault_home.path / "other.sock"))
        assert second.process.wait(20) == 1
        second.end()
    assert "in use by another process" in (vault_home.path.parent / "vault.stderr").read_text()


def test_a_gateway_is_stopped_in_good_order_while_its_vault_is_away(home: Home, vault_home: VaultHome, model: Model) -> None:
    model.begin("hello")
    with home_and_vault(home, vault_home) as (gateway, vault):
        assert gateway.say("hi", "anna").text == "hello"
        vault.kill()
        assert gateway.end() == 0
    assert "Traceback" not in home.stderr


def test_commands_without_a_gateway_use_the_vaults_process_and_make_no_store_of_their_own(
    home: Home, vault_home: VaultHome, model: Model
) -> None:
    model.begin("hello")
    with home_and_vault(home, vault_home) as (gateway, _):
        gateway.say("hi", "anna")
    with vault_home.serving():
        assert len(home.run_json("sessions", "list")) == 1
        assert home.run("kill").returncode == 0
    away = home.run("kill", seconds=60)
    assert (away.returncode, "does not answer" in away.stderr) == (1, True)
    assert not (home.path / "bots").exists()
