"""The reading threads' work: one call after another over a connection that cannot write."""

from collections.abc import Sequence
from pathlib import Path

import apsw

from ostiary.adapters.store.sqlite.refusals import explain
from ostiary.adapters.store.sqlite.threads import Job


class Reader:
    """A `Hand`. It keeps no transaction open between two jobs, so it never holds the log back."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def work(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            try:
                job.result = job.call(self._connection)
            except Exception as error:  # noqa: BLE001 - the error belongs to the one who asked
                job.error = explain(error, self._path)

    def close(self) -> None:
        self._connection.close()
