"""The gateway as its users meet it: a process of its own, a state directory, HTTP from outside."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

from ostiary.kit.model_servers import KEY

OSTIARY = str(Path(sys.executable).with_name("ostiary"))
TOKEN = "tok-journey-0123456789abcdef"
WAIT = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """What the assistant said, whole or streamed."""
        assert self.status == 200, self.body
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            return "".join(c["delta"].get("content") or "" for e in self.events for c in e.get("choices", ()))
        return str(self.json["choices"][0]["message"]["content"])

    @property
    def events(self) -> list[dict[str, Any]]:
        lines = [line[6:] for line in self.body.split(b"\n") if line.startswith(b"data: ")]
        assert lines[-1] == b"[DONE]", lines[-1:]
        return [json.loads(line) for line in lines[:-1]]

    @property
    def error(self) -> str:
        """The sentence of a refusal, which has OpenAI's shape."""
        error = self.json["error"]
        assert {"message", "type", "param", "code"} == set(error)
        return str(error["message"])

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


def config(model_url: str, **more: object) -> dict[str, object]:
    """A house whose only model is the one at `model_url`."""
    kit = {
        "baseUrl": model_url,
        "api": "openai-completions",
        "apiKey": "${KIT_KEY}",
        "models": [{"id": "kit-1"}, {"id": "kit-2"}],
    }
    return {
        "gateway": {"auth": {"token": "${OSTIARY_TOKEN}"}, "drainSeconds": 1},
        "agents": {"defaults": {"model": {"primary": "kit/kit-1"}}},
        "models": {"providers": {"kit": kit}},
        **more,
    }


@dataclass(slots=True)
class Home:
    """A state directory and the commands run on it."""

    path: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        own = {"HOME": str(self.path.parent), "OSTIARY_HOME": str(self.path), "OSTIARY_TOKEN": TOKEN, "KIT_KEY": KEY}
        self.environ = {**kept, **own, **self.environ}

    @property
    def file(self) -> Path:
        return self.path / "ostiary.json5"

    def configure(self, content: Mapping[str, object] | str | bytes) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        draft = self.file.with_suffix(".draft")
        draft.write_bytes(text.encode() if isinstance(text, str) else text)
        draft.chmod(0o600)
        draft.replace(self.file)

    def run(self, *arguments: str, stdin: str = "", seconds: float = WAIT) -> subprocess.CompletedProcess[str]:
        """One command, to its end. A traceback is never an answer."""
        done = subprocess.run(
            [OSTIARY, *arguments], env=self.environ, input=stdin, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return done

    def run_json(self, *arguments: str) -> Any:
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def begin(self, *wrapper: str) -> "Gateway":
        """`ostiary up`, not yet ready."""
        with (self.path.parent / f"{self.path.name}.stderr").open("ab") as stderr:
            process = subprocess.Popen(
                [*wrapper, OSTIARY, "up", "--port", "0"],
                env=self.environ,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        return Gateway(home=self, process=process)

    @contextmanager
    def up(self, *wrapper: str) -> Iterator["Gateway"]:
        gateway = self.begin(*wrapper)
        try:
            gateway.wait_ready()
            yield gateway
        finally:
            gateway.end()

    def refused(self) -> str:
        """What `up` says when it will not start: one sentence and what to do, no traceback, exit code 1."""
        done = self.run("up", "--port", "0", seconds=10)
        assert (done.returncode, done.stdout) == (1, ""), done
        complaint = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
        assert complaint[0].startswith("error: "), done.stderr
        return "\n".join(complaint)

    @property
    def stderr(self) -> str:
        return (self.path.parent / f"{self.path.name}.stderr").read_text()


@dataclass(slots=True)
class Gateway:
    home: Home
    process: "subprocess.Popen[bytes]"
    url: str = ""
    token: str = TOKEN
    stopping: bool = False

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def wait_ready(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode()
        assert line.startswith("ready http://127.0.0.1:"), (line, self.home.stderr)
        self.url = line.split()[1]

    def kill(self) -> None:
        """As a power cut: nothing is said goodbye to."""
        self.process.kill()
        self.process.wait(WAIT)

    def terminate(self) -> None:
        self.stopping = True
        self.process.send_signal(signal.SIGTERM)

    def end(self) -> int:
        """Ask it to stop and wait; gives the exit code."""
        if self.process.poll() is None and not self.stopping:
            self.terminate()
        try:
            return self.process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            assert self.process.stdout is not None
            self.process.stdout.close()

    def open(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None, *, seconds: float = WAIT
    ) -> HTTPConnection:
        """A request that is on its way; `getresponse` waits for the answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(method, path, content, {"Authorization": f"Bearer {self.token}", **(headers or {})})
        return connection

    def call(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Answer:
        connection = self.open(method, path, body, headers)
        try:
            return finished(connection.getresponse())
        finally:
            connection.close()

    def ask(self, body: object, **headers: str) -> Answer:
        """POST to the chat completions. Header names with underscores for dashes."""
        return self.call("POST", "/v1/chat/completions", body, dashed(headers))

    def say(self, text: str, user: str = "", **headers: str) -> Answer:
        return self.ask(said(text, user), **headers)

    def status(self) -> Any:
        return self.call("GET", "/v1/ostiary/status").json


def said(text: object, user: str = "", **more: object) -> dict[str, object]:
    named = {"user": user} if user else {}
    return {"messages": [{"role": "user", "content": text}], **named, **more}


def dashed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def finished(response: HTTPResponse) -> Answer:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, response.read())


def until(holds: Callable[[], bool], seconds: float = WAIT) -> None:
    """Waits for what the process does on its own time: reloading, retrying."""
    pause, deadline = threading.Event(), time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come about"
        pause.wait(0.02)
