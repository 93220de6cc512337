"""Rules for every test: nothing leaves loopback, nothing touches the user's own state, and in CI a skip is a failure."""

import os
import signal
import sys
import tempfile
from ipaddress import ip_address

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code; in CI the same change gets the same examples.
settings.register_profile("house", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("house")

# Whoever starts the tests in the background has them ignore Ctrl-C, and the programs they start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["OSTIARY_HOME"] = os.path.join(tempfile.gettempdir(), f"ostiary-test-home-{os.getpid()}-unused")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def _is_here(host: str) -> bool:
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"


def _stay_on_loopback(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.connect":
        return
    address = arguments[1]
    if isinstance(address, tuple) and not _is_here(str(address[0])):
        raise PermissionError(f"a test tried to connect to {address[0]}; tests stay on loopback")


sys.addaudithook(_stay_on_loopback)

_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if os.environ.get("CI") == "true" and _skipped and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if os.environ.get("CI") == "true" and _skipped:
        terminalreporter.write_line(f"{len(_skipped)} skipped tests count as failures in CI", red=True)
