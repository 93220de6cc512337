import fcntl
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.models.embedded.catalogue import Weights
from ostiary.adapters.models.embedded.source import Progress, SourceFailed
from ostiary.adapters.models.embedded.weights import find_weights, pull, weights_directory
from ostiary.contracts.errors import ModelUnavailable

BYTES = bytes(range(256)) * 40
TINY = Weights(
    model="tiny",
    name="Tiny",
    size=len(BYTES),
    sha256=hashlib.sha256(BYTES).hexdigest(),
    url="",
    pieces=(),
    context=512,
    max_tokens=64,
    ram=0,
    chooses_tools=False,
)


class Giver:
    """Appends what is missing of its own bytes."""

    def __init__(self, name: str = "giver", content: bytes = BYTES, *, breaks_at: int | None = None) -> None:
        self.name = name
        self.starts: list[int] = []
        self._content = content
        self._breaks_at = breaks_at

    async def fetch(self, weights: Weights, partial: Path, progress: Progress) -> None:
        start = partial.stat().st_size if partial.exists() else 0  # noqa: ASYNC240
        self.starts.append(start)
        with partial.open("ab") as file:
            file.write(self._content[start : self._breaks_at])
        progress(partial.stat().st_size)  # noqa: ASYNC240
        if self._breaks_at is not None:
            raise SourceFailed("the line broke")


class Stuck(Giver):
    """Writes a little and then waits for ever."""

    def __init__(self) -> None:
        super().__init__(breaks_at=1000)
        self.waiting = anyio.Event()

    async def fetch(self, weights: Weights, partial: Path, progress: Progress) -> None:
        partial.write_bytes(BYTES[:1000])  # noqa: ASYNC240
        self.waiting.set()
        await anyio.sleep_forever()


def silent(what: str, done: int, total: int) -> None:
    pass


async def test_the_file_gets_its_name_only_with_the_right_hash(tmp_path: Path) -> None:
    path = await pull(tmp_path, silent, TINY, sources=[Giver()])
    assert path == tmp_path / f"{TINY.sha256}.gguf"
    assert path.read_bytes() == BYTES
    assert find_weights(tmp_path, TINY) == path


async def test_a_file_that_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    await pull(tmp_path, silent, TINY, sources=[Giver()])
    again = Giver()
    await pull(tmp_path, silent, TINY, sources=[again])
    assert again.starts == []


async def test_wrong_bytes_are_removed_and_the_next_source_is_tried(tmp_path: Path) -> None:
    good = Giver("good")
    path = await pull(tmp_path, silent, TINY, sources=[Giver("liar", b"x" * TINY.size), good])
    assert good.starts == [0]
    assert path.read_bytes() == BYTES


async def test_what_one_source_began_the_next_continues(tmp_path: Path) -> None:
    second = Giver("second")
    await pull(tmp_path, silent, TINY, sources=[Giver("first", breaks_at=3000), second])
    assert second.starts == [3000]


async def test_a_damaged_beginning_is_thrown_away_once(tmp_path: Path) -> None:
    (tmp_path / f"{TINY.sha256}.partial").write_bytes(b"garbage")
    giver = Giver()
    path = await pull(tmp_path, silent, TINY, sources=[giver])
    assert giver.starts == [7, 0]
    assert path.read_bytes() == BYTES


async def test_a_partial_file_longer_than_the_model_is_thrown_away(tmp_path: Path) -> None:
    (tmp_path / f"{TINY.sha256}.partial").write_bytes(BYTES + b"more")
    giver = Giver()
    await pull(tmp_path, silent, TINY, sources=[giver])
    assert giver.starts == [0]


async def test_the_error_names_every_source_and_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable) as failed:
        await pull(tmp_path, silent, TINY, sources=[Giver("one", breaks_at=5), Giver("two", b"y" * TINY.size)])
    assert "one: the line broke" in str(failed.value)
    assert "two: what it sent has the wrong SHA-256" in str(failed.value)
    assert "ostiary models pull" in failed.value.hint
    assert find_weights(tmp_path, TINY) is None


async def test_no_room_is_said_before_anything_is_fetched(tmp_path: Path) -> None:
    giver = Giver()
    with pytest.raises(ModelUnavailable, match=r"only 0\.0 GB are free"):
        await pull(tmp_path, silent, TINY, sources=[giver], free=1000)
    assert giver.starts == []


async def test_a_directory_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelUnavailable, match="could not be stored"):
        await pull(tmp_path / "file", silent, TINY, sources=[Giver()])


async def test_cancelling_keeps_what_came_and_frees_the_lock(tmp_path: Path) -> None:
    stuck = Stuck()
    async with anyio.create_task_group() as group:
        group.start_soon(_pull, tmp_path, silent, stuck)
        await stuck.waiting.wait()
        group.cancel_scope.cancel()
    giver = Giver()
    with anyio.fail_after(5):
        await pull(tmp_path, silent, TINY, sources=[giver])
    assert giver.starts == [1000]


async def test_a_second_process_waits_and_finds_the_file(tmp_path: Path) -> None:
    lock = os.open(tmp_path / f"{TINY.sha256}.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    waiting = anyio.Event()
    late = Giver()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(_pull, tmp_path, lambda *state: waiting.set(), late)
            await waiting.wait()
            (tmp_path / TINY.file).write_bytes(BYTES)
            os.close(lock)
    assert late.starts == []


async def _pull(directory: Path, report: Callable[[str, int, int], None], source: Giver) -> None:
    await pull(directory, report, TINY, sources=[source])


def test_the_directory_is_shared_between_homes_unless_named() -> None:
    assert weights_directory({"OSTIARY_WEIGHTS": "/srv/weights"}) == Path("/srv/weights")
    assert weights_directory({"XDG_CACHE_HOME": "/c"}) == Path("/c/ostiary/weights")
    assert weights_directory({}) == Path("~/.cache/ostiary/weights").expanduser()
