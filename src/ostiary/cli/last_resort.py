"""What a person is told of an error that nobody foresaw."""

import sys
from contextlib import suppress


def apologise(error: Exception) -> int:
    """Say it in a sentence and write where it happened to the log; gives the exit code."""
    from ostiary.assembly.logging import masked

    first: BaseException = error
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    what = masked(" ".join(f"{type(first).__name__}: {first}".split()))[:300]
    print(f"error: something went wrong that should not: {what}", file=sys.stderr)
    where = _write_down(error)
    if where:
        print(f"Where it happened is in {where}. With --debug before the command it is shown here.", file=sys.stderr)
    else:
        print("With --debug before the command you see where it happened.", file=sys.stderr)
    return 1


def _write_down(error: Exception) -> str:
    """The log's path; empty if it cannot be written, which must not hide the error itself."""
    with suppress(Exception):
        import logging

        from ostiary.assembly.logging import log_to_file
        from ostiary.cli.home import home

        path = home() / "logs" / "ostiary.log"
        log_to_file(path)
        root = logging.getLogger()
        file = next(handler for handler in root.handlers if handler.name == "ostiary-file")
        trace = (type(error), error, error.__traceback__)
        # To the file alone: the terminal has heard the sentence already.
        file.handle(root.makeRecord("ostiary.cli", logging.ERROR, "", 0, "a command failed", (), trace))
        root.removeHandler(file)
        file.close()
        return str(path)
    return ""
