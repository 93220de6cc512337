"""A child that speaks the protocol without a model. Its first argument says how it misbehaves."""

import os
import sys
import threading

from ostiary.adapters.models.embedded.frames import encode, read


def say(**frame: object) -> None:
    sys.stdout.buffer.write(encode(frame))
    sys.stdout.buffer.flush()


def answer(number: int, body: dict[str, object]) -> None:
    messages = body["messages"]
    assert isinstance(messages, list)
    last = messages[-1]["content"]
    if "json_schema" in body:
        say(id=number, text='{"tool":"read","arguments":{"path":"a.txt"}}')
    elif "crash" in last:
        say(id=number, text="going ")
        os._exit(9)
    elif "for ever" in last:
        say(id=number, text="on and ")
        return
    elif "too long" in last:
        say(id=number, error="request exceeds the available context size", kind="exceed_context_size_error")
        return
    else:
        say(id=number, text="echo: ")
        say(id=number, text=last)
    say(id=number, done="length" if body["max_tokens"] == 1 else "stop", prompt=5, cached=3, written=2)


def main() -> None:
    mode = sys.argv[1] if len(sys.argv) > 1 else ""
    order = read(sys.stdin.buffer)
    assert order is not None
    assert order["parent"] == os.getppid()
    if mode == "mute":
        threading.Event().wait()
    say(**({"damaged": True} if mode == "damaged" else {"failed": "no such engine"} if mode == "failed" else {"ready": True}))
    while (frame := read(sys.stdin.buffer)) is not None:
        if frame["op"] == "chat":
            answer(frame["id"], frame["body"])
        elif mode != "deaf":
            say(id=frame["id"], done="stopped")


if __name__ == "__main__":
    main()
