"""Where `ostiary` begins. `--version`, `up`, `memory search`, and `agent` against a running gateway load no framework."""

import os
import sys


def main() -> None:
    arguments = _without_debug(sys.argv[1:])
    if arguments in (["--version"], ["-V"], ["version"]):
        from ostiary import __version__

        print(f"ostiary {__version__}")
        return
    sys.exit(_run(arguments))


def _run(arguments: list[str]) -> int:
    from ostiary.contracts.errors import OstiaryError

    try:
        if arguments[:1] == ["agent"]:
            from ostiary.cli import agent

            done = agent.try_quickly(arguments[1:])
            if done is not None:
                return done
        if arguments[:2] == ["memory", "search"]:
            from ostiary.cli import memory_search

            done = memory_search.try_quickly(arguments[1:])
            if done is not None:
                return done
        if arguments[:1] == ["up"]:
            from ostiary.cli import up

            asked = up.parse(arguments[1:])
            if asked is not None:
                up.run(asked)
                return 0
        from ostiary.cli.app import run

        return run(arguments)
    except OstiaryError as error:
        if os.environ.get("OSTIARY_DEBUG") == "1":
            raise
        from ostiary.cli.output import complain

        return complain(error)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output (head, less) has seen enough. Nothing may be flushed into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        told = _alone(error)
        if isinstance(told, OstiaryError) and os.environ.get("OSTIARY_DEBUG") != "1":
            from ostiary.cli.output import complain

            return complain(told)
        # The last resort: a bug is told in a sentence; who wants to see where it happened finds it in the log.
        if os.environ.get("OSTIARY_DEBUG") == "1":
            raise
        from ostiary.cli.last_resort import apologise

        return apologise(error)


def _alone(error: BaseException) -> BaseException:
    """What a group of one is about: some Pythons wrap what is raised while a group is handled."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _without_debug(arguments: list[str]) -> list[str]:
    """`--debug` before the command: errors come with their traceback."""
    if arguments[:1] != ["--debug"]:
        return arguments
    os.environ["OSTIARY_DEBUG"] = "1"
    return arguments[1:]


if __name__ == "__main__":
    main()
