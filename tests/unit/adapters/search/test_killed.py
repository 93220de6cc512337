"""An index that is killed in the middle of its work goes on where it was and never holds half a document."""

import os
import signal
import sys
from pathlib import Path

import anyio
import pytest

from tests.unit.adapters.search.house import NOTES, open_house

# Kills itself inside the transaction of the third batch, after a document was written and before the batch is whole.
CHILD = """
import anyio, os, signal, sys
from pathlib import Path
from ostiary.adapters.search import database, intake
from tests.unit.adapters.search.house import open_house

intake._DOCUMENTS = 4
written = database.write
seen = []

def write(connection, generation, document):
    result = written(connection, generation, document)
    seen.append(document.path)
    if len(seen) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    return result

database.write = write

async def main():
    async with open_house(Path(sys.argv[1])) as house:
        await house.index.settle()

anyio.run(main)
"""


@pytest.mark.parametrize("at", [1, 6, 11])
async def test_an_index_killed_while_it_takes_in_goes_on(tmp_path: Path, at: int) -> None:
    async with open_house(tmp_path) as house:
        for number in range(14):
            await house.put(f"{number:02}.md", "\n".join(f"- albatross {number} line {line}" for line in range(5)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", CHILD, str(tmp_path), str(at)]
    with anyio.fail_after(60):
        ended = await anyio.run_process(command, env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    async with open_house(tmp_path) as house:
        before = await house.index.status()
        assert before.documents % 4 == 0
        assert before.chunks == 5 * before.documents
        assert before.waiting == 14 - before.documents
        found = await house.index.query("albatross", reach=NOTES, limit=50)
        assert {passage.path for passage in found.passages} == {f"{number:02}.md" for number in range(14)}
        assert (await house.index.status()).chunks == 70
