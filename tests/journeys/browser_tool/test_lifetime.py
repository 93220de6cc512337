"""When the browser starts and ends, what its process is, and what happens to it when something goes wrong."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from ostiary.adapters.browser.browser import Browser
from ostiary.adapters.browser.fence import UID
from ostiary.adapters.browser.records import Limits
from ostiary.contracts.errors import ToolError
from ostiary.kit.clock import ManualClock
from tests.journeys.browser_tool.conftest import Desk, browsing
from tests.journeys.browser_tool.internet import Internet

PAGE = "<title>Here</title><p>words</p>"


def tree(pid: int) -> Iterator[int]:
    """The process and everything below it."""
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from tree(int(child))


def facts(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")


def process_of(browser: Browser) -> int:
    process = browser._process
    assert process is not None
    return process.pid


def environ(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def mounted(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/mounts").read_text().splitlines()


def runs(pid: int) -> bool:
    """A zombie no longer does."""
    try:
        return facts(pid)["State"][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not holds():  # noqa: ASYNC110 - the kernel sets no event of ours
            await anyio.sleep(0.02)


async def gone(pids: list[int]) -> None:
    """Wait until none of these is left."""
    await until(lambda: not any(map(runs, pids)))


async def test_nothing_runs_before_it_is_needed(internet: Internet) -> None:
    async with browsing(internet) as browser:
        assert not browser.is_running


async def test_the_process_is_fenced_twice_and_owns_nothing(desk: Desk, browser: Browser) -> None:
    await desk.show(PAGE)
    pids = list(tree(process_of(browser)))
    chromium = [pid for pid in pids if command(pid).split()[0].rpartition("/")[2] in ("chromium", "chrome", "node")]
    renderers = [pid for pid in chromium if "--type=renderer" in command(pid)]
    assert renderers
    assert all(facts(pid)["Seccomp"] == "2" for pid in renderers)
    assert not any("--no-sandbox" in command(pid) for pid in pids)
    assert all(facts(pid)["NoNewPrivs"] == "1" for pid in chromium)
    assert {facts(pid)["Uid"].split()[0] for pid in chromium} == {str(UID if os.geteuid() == 0 else os.geteuid())}
    outer = [pid for pid in chromium if os.readlink(f"/proc/{pid}/ns/user") == os.readlink(f"/proc/{chromium[0]}/ns/user")]
    assert all(int(facts(pid)["CapEff"], 16) == 0 for pid in outer)
    ours = os.readlink("/proc/self/ns/net")
    assert all(os.readlink(f"/proc/{pid}/ns/net") != ours for pid in chromium)


async def test_the_process_is_told_nothing_of_the_gateways_environment(
    desk: Desk, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTIARY_CANARY", "secret-canary")
    browser.end()
    await desk.show(PAGE)
    assert not any(b"secret-canary" in environ(pid) for pid in tree(process_of(browser)))


async def test_an_idle_browser_is_ended_with_everything_it_started(internet: Internet) -> None:
    clock = ManualClock()
    async with browsing(internet, clock=clock) as browser:
        desk = Desk(browser, internet)
        await desk.show(PAGE)
        pids = list(tree(process_of(browser)))
        await clock.advance(299)
        assert browser.is_running
        await desk.do("read")
        await clock.advance(299)
        assert browser.is_running
        await clock.advance(2)
        assert not browser.is_running
        await gone(pids)


async def test_leaving_the_house_leaves_no_process(internet: Internet) -> None:
    async with browsing(internet) as browser:
        await Desk(browser, internet).show(PAGE)
        pids = list(tree(process_of(browser)))
    await gone(pids)


async def test_what_it_writes_is_memory_of_its_own(desk: Desk, browser: Browser) -> None:
    await desk.show(PAGE)
    drivers = [pid for pid in tree(process_of(browser)) if command(pid).split()[0].endswith("/node")]
    mounts = [line.split() for line in mounted(drivers[0])]
    assert [each[2] for each in mounts if each[1] == "/tmp"] == ["tmpfs"]
    writable = [(kind, place) for _, place, kind, options, *_ in mounts if "rw" in options.split(",")]
    assert not [place for kind, place in writable if kind not in ("tmpfs", "proc") and not place.startswith("/dev/")]


async def test_a_browser_that_dies_is_said_to_and_comes_back(desk: Desk, browser: Browser) -> None:
    await desk.show(PAGE)
    os.kill(process_of(browser), signal.SIGKILL)
    with pytest.raises(ToolError, match=r"Open it again|No page is open"):
        await desk.do("read")
    assert "Here" in (await desk.show(PAGE)).text


async def test_ending_it_by_hand_interrupts_a_page_that_loads(desk: Desk, browser: Browser, internet: Internet) -> None:
    await desk.show(PAGE)
    pids = list(tree(process_of(browser)))
    errors: list[str] = []

    async def open_silent() -> None:
        with pytest.raises(ToolError) as caught:
            await desk.do("open", url=internet.silent())
        errors.append(str(caught.value))

    async with anyio.create_task_group() as group:
        group.start_soon(open_silent)
        await until(lambda: "GET silent.example /" in internet.asked)
        assert browser.end("the owner stopped it")
    assert errors == ["The owner stopped it; every page is closed. Open it again."]
    await gone(pids)


async def test_a_call_that_is_cancelled_leaves_the_browser_usable(desk: Desk, browser: Browser, internet: Internet) -> None:
    await desk.show(PAGE)
    with anyio.move_on_after(0.5):
        await desk.do("open", url=internet.silent())
    assert "Here" in (await desk.show(PAGE)).text


async def test_the_fifth_conversation_waits_until_one_is_idle(internet: Internet) -> None:
    clock = ManualClock()
    async with browsing(internet, Limits(settle=0.5), clock=clock) as browser:
        desks = [Desk(browser, internet) for _ in range(5)]
        await desks[0].show(PAGE)
        await clock.advance(100)
        for desk in desks[1:4]:
            await desk.show(PAGE)
        with pytest.raises(ToolError, match="taken by other conversations"):
            await desks[4].show(PAGE)
        await clock.advance(201)
        assert "Here" in (await desks[4].show(PAGE)).text
        with pytest.raises(ToolError, match="No page is open"):
            await desks[0].do("read")


async def test_nothing_dead_is_left_for_others_to_bury(internet: Internet) -> None:
    async with browsing(internet) as browser:
        await Desk(browser, internet).show(PAGE)
        pids = list(tree(process_of(browser)))
    await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
