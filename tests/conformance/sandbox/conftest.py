"""Every backend that can be here. macOS's seatbelt is stood in for by a program that only takes its words away."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.sandbox import OwnedSandbox
from ostiary.adapters.sandbox.bubblewrap import Bubblewrap
from ostiary.adapters.sandbox.container import Container
from ostiary.adapters.sandbox.host import Host
from ostiary.adapters.sandbox.seatbelt import Seatbelt
from tests.conformance.sandbox.place import Place

SOURCE = Path(__file__).parents[3] / "src"
ENGINE = f"""#!{sys.executable}
import runpy, sys
sys.path.insert(0, {str(SOURCE)!r})
sys.path.insert(0, {str(SOURCE.parent)!r})
runpy.run_path(__file__ + '.py', run_name='__main__')
"""
# Its canary is a file it must not read; what this program lets through it cannot refuse, so that file is refused here.
SEATBELT = """#!/bin/sh
case "$*" in *outside-canary*) printf inside; exit 0 ;; esac
shift 2
exec "$@"
"""


def _engine(folder: Path) -> None:
    shutil.copy(Path(__file__).parent / "engine.py", folder / "docker.py")
    (folder / "docker").write_text(ENGINE)
    (folder / "docker").chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


def _seatbelt(folder: Path) -> Seatbelt:
    program = folder / "sandbox-exec"
    program.write_text(SEATBELT)
    program.chmod(0o755)
    return Seatbelt(state=folder / "state", program=str(program))


def _docker(folder: Path) -> Container:
    _engine(folder)
    return Container(state=folder / "state")


MADE = {
    "served": lambda folder: Bubblewrap(state=folder / "state"),
    "alone": lambda folder: Bubblewrap(state=folder / "state", fork_server=False),
    "plain": lambda folder: Bubblewrap(state=folder / "state", native=False),
    "docker": _docker,
    "seatbelt": _seatbelt,
    "host": lambda folder: Host(i_accept_no_fence=True),
}


@pytest.fixture(scope="session", params=list(MADE))
def sandbox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnedSandbox]:
    path = os.environ["PATH"]
    made = MADE[request.param](tmp_path_factory.mktemp(request.param))
    yield made
    anyio.run(made.aclose)
    os.environ["PATH"] = path


@pytest.fixture
def place(sandbox: OwnedSandbox, tmp_path: Path) -> Place:
    return Place(sandbox, tmp_path)
