"""The real sandbox, all ways a command can take through it, and a workspace with a secret beside it."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.sandbox.bubblewrap import Bubblewrap
from tests.kernel.fence import SECRET, Fence


@pytest.fixture(scope="session", params=["served", "alone", "plain"])
def sandbox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bubblewrap]:
    state = tmp_path_factory.mktemp("state") / "sandbox"
    made = Bubblewrap(state=state, fork_server=request.param == "served", native=request.param != "plain")
    yield made
    anyio.run(made.aclose)


@pytest.fixture
def fence(sandbox: Bubblewrap, tmp_path: Path) -> Fence:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "secret").write_text(SECRET)
    return Fence(sandbox, workspace)
