"""The command line as its user sees it: answers on stdout, one sentence and what to do on stderr, exit codes that tell."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from ostiary.adapters.store.sqlite.lock import hold_writer_lock
from ostiary.assembly.vault import STORE
from ostiary.kit.model_servers import Failure, Reply, Words
from tests.journeys.gateway.house import OSTIARY, WAIT, Gateway, Home
from tests.journeys.gateway.model import Model

KEY = "agent:main:main"


def _begin(home: Home, *arguments: str) -> "subprocess.Popen[str]":
    """A command on its way. It has a process group of its own, so that only it hears of Ctrl-C."""
    return subprocess.Popen(
        [OSTIARY, *arguments],
        env=home.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_agent_prints_the_answer_and_nothing_else(gateway: Gateway, model: Model) -> None:
    model.begin("It is noon.")
    done = gateway.home.run("agent", "--message", "What time is it?", "--session", "plain")
    assert (done.returncode, done.stdout, done.stderr) == (0, "It is noon.\n", "")


def test_agent_reads_the_message_from_standard_input(gateway: Gateway, model: Model) -> None:
    model.begin("Read.")
    assert gateway.home.run("agent", "-m", "-", "--session", "piped", stdin="a long text\n").stdout == "Read.\n"
    assert model.last["messages"][-1]["content"] == "a long text\n"


def test_agent_as_json_is_the_whole_answer(gateway: Gateway, model: Model) -> None:
    model.begin("Yes.")
    answer = gateway.home.run_json("agent", "-m", "hi", "--session", "json")
    assert answer["choices"][0]["message"]["content"] == "Yes."
    assert answer["ostiary"]["status"] == "completed"


def test_agent_says_in_a_sentence_why_there_is_no_answer(gateway: Gateway, model: Model) -> None:
    done = gateway.home.run("agent", "-m", "hi", "--model", "nobody/nothing")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert "nobody" in done.stderr


def test_agent_without_a_gateway_opens_the_house_for_one_answer(home: Home, model: Model) -> None:
    model.begin("Alone.", "Still alone.")
    assert home.run("agent", "-m", "hi").stdout == "Alone.\n"
    assert home.run("agent", "-m", "again").stdout == "Still alone.\n"
    assert [m["content"] for m in model.last["messages"] if m["role"] != "system"] == ["hi", "Alone.", "again"]


def test_several_agents_at_once_without_a_gateway_take_turns(home: Home, model: Model) -> None:
    model.begin("One.", "Two.", "Three.")
    begun = [_begin(home, "agent", "-m", f"number {number}") for number in range(3)]
    ended = [process.communicate(timeout=WAIT) for process in begun]
    assert [process.returncode for process in begun] == [0, 0, 0]
    assert sorted(said for said, _ in ended) == ["One.\n", "Three.\n", "Two.\n"]
    told = [complaint for _, complaint in ended if complaint]
    assert told == ["Waiting for another ostiary command to finish …\n"] * len(told)


def test_ctrl_c_ends_agent_and_its_turn_at_once_although_the_model_is_busy(home: Home, model: Model) -> None:
    gate = model.gate()
    home.configure(home.file.read_text().replace('"drainSeconds": 1', '"drainSeconds": 60'))
    model.begin(Reply(parts=(Words(pieces=("never", "!")),), holds={1: gate}), "Next.")
    agent = _begin(home, "agent", "-m", "hi")
    model.wait_asked()
    agent.send_signal(signal.SIGINT)
    # Far less than the sixty seconds that running turns are given.
    assert agent.communicate(timeout=20) == ("", "")
    assert agent.returncode == 130
    assert "turn aborted" in home.run("sessions", "show", KEY).stdout
    assert home.run("agent", "-m", "and now?").stdout == "Next.\n"
    model.release(gate)


def test_ctrl_c_leaves_the_turn_to_the_gateway_that_runs_it(gateway: Gateway, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("Late", ".")),), holds={1: gate}), "Next.")
    agent = _begin(gateway.home, "agent", "-m", "hi", "--session", "left")
    model.wait_asked()
    agent.send_signal(signal.SIGINT)
    assert agent.communicate(timeout=20) == ("", "")
    model.release(gate)
    assert gateway.home.run("agent", "-m", "and now?", "--session", "left").stdout == "Next.\n"
    assert [each["content"] for each in model.last["messages"] if each["role"] == "assistant"] == ["Late."]


def test_a_fresh_home_has_an_empty_list_of_sessions(tmp_path: Path) -> None:
    fresh = Home(tmp_path / "fresh")
    assert fresh.run_json("sessions", "list") == []
    done = fresh.run("sessions", "list")
    assert (done.returncode, done.stderr) == (0, "")
    assert "No sessions yet" in done.stdout
    assert not fresh.path.exists()


def test_a_protocol_nothing_speaks_and_a_model_nobody_has_are_told_before_they_are_used(home: Home, model: Model) -> None:
    content = home.file.read_text()
    home.configure(content.replace("openai-completions", "openai-complete").replace("kit/kit-1", "kti/kit-1"))
    validated, examined = home.run("config", "validate"), home.run("doctor")
    for said in (validated.stderr, examined.stdout):
        assert 'models.providers.kit.api: nothing here speaks "openai-complete"' in said
        assert 'agents.defaults.model.primary: there is no provider "kti"; did you mean "kit"?' in said


def test_status_tells_whether_it_runs(gateway: Gateway, tmp_path: Path) -> None:
    running = gateway.home.run_json("status")
    assert (running["running"], running["url"]) == (True, gateway.url)
    stopped = Home(tmp_path / "home").run("status", "--json")
    assert (stopped.returncode, json.loads(stopped.stdout)["running"]) == (3, False)


def test_a_session_is_listed_shown_exported_imported_branched_and_deleted(home: Home, model: Model, tmp_path: Path) -> None:
    model.begin("Hello Ada.", "You are Ada.", "You are Ada, still.")
    home.run("agent", "-m", "I am Ada.")
    assert [row["key"] for row in home.run_json("sessions", "list")] == [KEY]
    kinds = [row["kind"] for row in home.run_json("sessions", "show", KEY)]
    assert {"turn.started", "model.requested", "model.answered", "turn.ended"} <= set(kinds)
    copy = tmp_path / "copy.jsonl"
    assert home.run("sessions", "export", KEY, "-o", str(copy)).returncode == 0
    assert "Hello Ada." in copy.read_text()
    assert home.run("sessions", "import", "agent:main:copy", str(copy)).returncode == 0
    assert home.run("sessions", "branch", KEY, "agent:main:branch").returncode == 0
    for key in ("agent:main:copy", "agent:main:branch"):
        assert home.run("agent", "-m", "Who am I?", "--session", key).returncode == 0
        assert "I am Ada." in str(model.last["messages"])
    assert home.run("sessions", "delete", KEY, "--yes").returncode == 0
    assert KEY not in [row["key"] for row in home.run_json("sessions", "list")]


def test_a_session_is_deleted_through_the_running_gateway_and_that_is_in_the_audit_log(gateway: Gateway, model: Model) -> None:
    model.begin("ok")
    gateway.say("hi", "short-lived")
    key = "agent:main:api:short-lived"
    done = gateway.home.run("sessions", "delete", key, "--yes")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{key} is deleted.\n", "")
    assert key not in [row["key"] for row in gateway.home.run_json("sessions", "list", "--all")]
    log = gateway.home.run("audit", "tail", "--kind", "session.deleted").stdout
    assert key in log


def test_a_gateway_waits_for_a_short_command_that_holds_the_house(home: Home, model: Model) -> None:
    model.begin("ok")
    assert home.run("agent", "-m", "hi").returncode == 0
    lock = hold_writer_lock(home.path / STORE)
    up = _begin(home, "up", "--port", "0")
    assert up.stderr is not None
    assert up.stdout is not None
    said = next(line for line in up.stderr if "Waiting" in line)
    os.close(lock)
    assert up.stdout.readline().startswith("ready http://")
    up.send_signal(signal.SIGTERM)
    up.communicate(timeout=WAIT)
    assert said == "Waiting for another ostiary command to finish …\n"


def test_sessions_can_be_read_while_the_gateway_runs(gateway: Gateway, model: Model) -> None:
    model.begin("ok")
    gateway.say("hi", "read-along")
    keys = [row["key"] for row in gateway.home.run_json("sessions", "list")]
    assert "agent:main:api:read-along" in keys
    assert gateway.home.run("sessions", "export", "agent:main:api:read-along").returncode == 0


@pytest.mark.parametrize("command", [("models", "list"), ("models", "status"), ("config", "show"), ("doctor",), ("status",)])
def test_what_programs_read_is_one_json_document(gateway: Gateway, command: tuple[str, ...]) -> None:
    assert gateway.home.run_json(*command)


def test_explained_configuration_says_where_values_come_from_and_no_secret(gateway: Gateway) -> None:
    shown = gateway.home.run("config", "show", "--explain").stdout
    assert "kit/kit-1" in shown
    assert "ostiary.json5" in shown
    assert gateway.token not in shown


def test_the_log_says_that_it_listens_and_which_turns_failed(gateway: Gateway, model: Model) -> None:
    model.begin(Failure(kind="rejected", words="no to a secret word"))
    gateway.say("a secret word", "logged")
    shown = gateway.home.run("logs", "-n", "1000").stdout
    assert gateway.url in shown
    assert "of agent:main:api:logged failed rejected" in shown
    assert "a secret word" not in shown


def test_the_version_is_one_line(gateway: Gateway) -> None:
    assert gateway.home.run("--version").stdout == gateway.home.run("version").stdout


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_completion_prints_a_script(gateway: Gateway, shell: str) -> None:
    assert "ostiary" in gateway.home.run("completion", shell).stdout


WRONG: dict[str, tuple[tuple[str, ...], int, str]] = {
    "an unknown command": (("fly",), 2, "fly"),
    "an unknown option": (("up", "--fly"), 2, "--fly"),
    "a port that is none": (("up", "--port", "many"), 2, "port"),
    "no message": (("agent",), 2, "message"),
    "an empty message": (("agent", "-m", ""), 1, "error: "),
    "an unknown session": (("sessions", "show", "agent:main:nobody"), 1, "agent:main:nobody"),
    "a file that is not there": (("sessions", "import", "agent:main:x", "/no/such/file"), 1, "/no/such/file"),
    "a shell nobody has": (("completion", "tcsh"), 2, "tcsh"),
    "an unknown path": (("config", "get", "gateway.prot"), 1, "gateway.prot"),
    "a value that does not fit": (("config", "set", "gateway.port", "many"), 1, "gateway.port"),
    "a model that is none": (("models", "set", "nobody/nothing"), 1, "nobody"),
    "a directory as output": (("sessions", "export", "agent:main:api:wrong", "-o", "/"), 1, "error: "),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_command_is_told_so_on_stderr(gateway: Gateway, model: Model, name: str) -> None:
    command, code, said = WRONG[name]
    done = gateway.home.run(*command)
    assert (done.returncode, done.stdout) == (code, ""), done
    assert said in done.stderr
    assert len(done.stderr.splitlines()) <= 12


def test_a_transcript_that_is_none_is_refused_and_makes_no_session(gateway: Gateway, tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(b"\x00\xff junk\n{]\n" * 100)
    done = gateway.home.run("sessions", "import", "agent:main:junk", str(tmp_path / "junk"))
    assert done.returncode == 1
    assert "agent:main:junk" not in gateway.home.run("sessions", "list", "--all").stdout


def test_an_answer_cannot_steer_the_terminal_through_show(gateway: Gateway, model: Model) -> None:
    model.begin("\x1b]0;owned\x07\x1b[2Jhello")
    gateway.say("hi", "terminal")
    shown = gateway.home.run("sessions", "show", "agent:main:api:terminal").stdout
    assert "\x1b" not in shown
    assert "hello" in shown


def test_a_gateway_killed_under_agent_is_said_in_a_sentence(home: Home, model: Model) -> None:
    gate = model.gate()
    model.begin(Reply(parts=(Words(pieces=("half", "never")),), holds={1: gate}))
    with home.up() as gateway:
        command = [OSTIARY, "agent", "-m", "hi"]
        with subprocess.Popen(command, env=home.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as asking:
            model.wait_asked()
            gateway.kill()
            out, err = asking.communicate(timeout=20)
    model.release(gate)
    assert (asking.returncode, out) == (1, "")
    assert err.startswith("error: the gateway went away.")
