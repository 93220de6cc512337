"""The house is killed, again and again, and must lose and repeat nothing.

`child` is the house under test, in a process of its own; `zygote` forks it quickly; `ledger` counts effects in the process
that does the killing; `scenario` feeds messages, kills, and checks; `python -m tests.crash --kills 10000` runs for long.
"""
