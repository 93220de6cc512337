"""A gateway at an address that stays the same when it is started again."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.journeys.gateway.conftest import home, model, model_server
from tests.journeys.gateway.house import OSTIARY, Gateway, Home

__all__ = ["home", "model", "model_server"]


class House:
    def __init__(self, home: Home, port: int) -> None:
        self.home = home
        self.port = port

    @contextmanager
    def up(self) -> Iterator[Gateway]:
        with (self.home.path.parent / f"{self.home.path.name}.stderr").open("ab") as stderr:
            process = subprocess.Popen(
                [OSTIARY, "up", "--port", str(self.port)],
                env=self.home.environ,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        gateway = Gateway(home=self.home, process=process)
        try:
            gateway.wait_ready()
            yield gateway
        finally:
            gateway.end()


@pytest.fixture
def house(home: Home) -> House:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
    return House(home, port)
