"""A file is edited by chat: the diff is shown, yesterday's version comes back, and what a command did is undone."""

import json
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.store.sqlite import open_store
from ostiary.adapters.store.sqlite.key import load_or_create_key
from ostiary.assembly.machine import SystemClock
from ostiary.contracts.content import Label, Trust
from ostiary.contracts.store import Put
from tests.journeys.gateway.house import Gateway, Home, until
from tests.journeys.gateway.model import Model
from tests.journeys.gateway.test_hands import begin, calls, outcomes

DAY = 86_400.0
LIST = "shopping/list.md"
WHO = "ada"


@pytest.fixture
def home(home: Home) -> Home:
    """With a file that was written the day before yesterday."""
    anyio.run(_written_before, home.path)
    return home


async def _written_before(path: Path) -> None:
    (path / "bots" / "main").mkdir(mode=0o700, parents=True)
    clock = SystemClock()
    label = Label(trust=Trust.OWNER, sources=("api:owner",))
    async with open_store(path / "bots/main/store.db", load_or_create_key(path / "keys/store.key"), clock=clock) as store:
        old = Put(
            collection="_workspace",
            path=LIST,
            content=b"milk\nbread\n",
            at=clock.now() - 2 * DAY,
            author="api:owner",
            label=label,
        )
        await store.commit([old])


def content(home: Home) -> str:
    return home.run("vault", "get", f"_workspace:{LIST}").stdout


def edit(gateway: Gateway, model: Model) -> None:
    model.begin(calls("read", path=LIST), calls("edit", path=LIST, old="milk", new="oat milk"), "Done.")
    assert gateway.say("Make it oat milk.", WHO).text == "Done."


def details(home: Home) -> str:
    """What people are shown of the calls, beside what the model reads."""
    shown = home.run_json("sessions", "show", f"agent:main:api:{WHO}")
    return json.dumps(shown)


def test_an_edit_shows_its_diff_and_yesterdays_version_comes_back(home: Home, model: Model) -> None:
    with home.up() as gateway:
        edit(gateway, model)
        told = details(home)
        edited = content(home)
        history = home.run_json("vault", "history", f"_workspace:{LIST}")
        compared = home.run("vault", "diff", f"_workspace:{LIST}").stdout
        looked = home.run("vault", "restore", f"_workspace:{LIST}", "--at", "yesterday", "--dry-run")
        unchanged = content(home)
        restored = home.run("vault", "restore", f"_workspace:{LIST}", "--at", "yesterday")
        back = content(home)
        model.begin(calls("read", path=LIST), "As before.")
        gateway.say("And now?", WHO)
        read = outcomes(model)[-1]
    assert "-milk" in told
    assert "+oat milk" in told
    assert edited == unchanged == "oat milk\nbread\n"
    assert "+oat milk" in compared
    assert len(history) == 2
    assert (looked.returncode, restored.returncode) == (0, 0), restored.stderr
    assert back == "milk\nbread\n"
    assert "oat" not in read


def test_what_a_command_changed_is_shown_and_undone(home: Home, model: Model) -> None:
    command = f"sed -i s/bread/rye/ {LIST} && echo new > new.txt"
    with home.up() as gateway:
        model.begin(calls("exec", command=command), "Changed.")
        thread, _ = begin(gateway, "Rye, please.", WHO)
        until(lambda: gateway.status()["waiting"] == 1)
        gateway.say("/confirm", WHO)
        thread.join()
        told = details(home)
        changed = content(home)
        shown = gateway.say("/undo", WHO).text
        undone = content(home)
        listed = home.run("vault", "ls", "_workspace").stdout
        again = home.run("vault", "history", f"_workspace:{LIST}").stdout
    assert "-bread" in told
    assert "+rye" in told
    assert "new.txt" in told
    assert changed == "milk\nrye\n"
    assert LIST in shown
    assert undone == "milk\nbread\n"
    assert "new.txt" not in listed
    assert again.count("\n") >= 3, "undoing adds a version and erases none"


def test_a_whole_collection_goes_back_to_yesterday(home: Home, model: Model) -> None:
    with home.up() as gateway:
        edit(gateway, model)
        model.begin(calls("write", path="later.md", content="later"), "Done.")
        gateway.say("Write it down.", WHO)
        done = home.run("vault", "restore", "-c", "_workspace", "--at", "yesterday")
        listed = home.run("vault", "ls", "_workspace").stdout
        back = content(home)
    assert done.returncode == 0, done.stderr
    assert "later.md" not in listed
    assert back == "milk\nbread\n"
