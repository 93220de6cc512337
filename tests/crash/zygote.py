"""A process that has imported everything and forks houses on demand: a new life costs milliseconds, not half a second.

Reads one order per line on standard input, answers with the child's pid, and with `<pid> <status>` when it has ended.
"""

import json
import os
import sys

import anyio

from tests.crash.child import Order, live


def main() -> None:
    for line in sys.stdin:
        told = json.loads(line)
        if "wait" in told:
            pid, status = os.waitpid(told["wait"], 0)
            print(pid, status, flush=True)
            continue
        pid = os.fork()
        if pid == 0:
            os.close(0)
            anyio.run(live, Order(**told))
            os._exit(0)
        print(pid, flush=True)


if __name__ == "__main__":
    main()
