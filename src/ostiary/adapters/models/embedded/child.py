"""The process that holds the model: frames in on stdin, frames out on stdout, nothing else in common with the gateway.

It dies with its parent: by the kernel's word on Linux, by the end of stdin elsewhere.
"""

import contextlib
import hashlib
import json
import os
import queue
import secrets
import shutil
import signal
import sys
import tempfile
import threading
from typing import Any, BinaryIO

from ostiary.adapters.models.embedded.frames import BadFrame, Frame, encode, read

_PR_SET_PDEATHSIG = 1
_OOM_FIRST = "800"
# A batch is also the longest time in which a request to stop is not heard.
_BATCH = 128
_FILE_BYTES = 4096
_CACHED_PROMPTS_MIB = 192


def main() -> None:
    """Reads one `load` frame, then `chat` and `stop` frames until stdin ends."""
    source, sink = _take_the_pipes()
    first = read(source)
    if first is None:
        return
    _become_humble(first)
    voice = _Voice(sink)
    try:
        server = _load(first)
    except _Damaged:
        voice.say({"damaged": True})
        return
    except (ImportError, OSError, RuntimeError) as error:
        voice.say({"failed": f"{type(error).__name__}: {error}"[:300]})
        return
    voice.say({"ready": True})
    chats: queue.Queue[Frame] = queue.Queue()
    stopped = _Stopped()
    threading.Thread(target=_serve, args=(server, chats, stopped, voice), daemon=True).start()
    with contextlib.suppress(BadFrame):
        while (frame := read(source)) is not None:
            if frame.get("op") == "stop":
                stopped.add(frame["id"])
            else:
                chats.put(frame)
    # The engine's threads do not end when asked while they compute; the process does.
    os._exit(0)


class _Damaged(Exception):
    pass


class _Voice:
    """Frames out, one at a time."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink

    def say(self, frame: Frame) -> None:
        self._sink.write(encode(frame))
        self._sink.flush()


class _Stopped:
    """The ids the gateway no longer wants to hear of: one request runs at a time, so the newest is enough."""

    def __init__(self) -> None:
        self._newest = 0

    def add(self, number: int) -> None:
        self._newest = max(self._newest, number)

    def __contains__(self, number: int) -> bool:
        return number <= self._newest


def _take_the_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The engine prints to stdout when it feels like it; that must not land between two frames."""
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return source, sink


def _become_humble(order: Frame) -> None:
    """Die with the parent, yield the processor, be the first to go when memory runs out, and stay within bounds."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write(_OOM_FIRST)
    if os.getppid() != order["parent"]:
        os._exit(0)
    if hasattr(os, "nice"):
        os.nice(order["nice"])
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_DATA, (order["memory"], order["memory"]))


def _load(order: Frame) -> Any:
    """Raises _Damaged, ImportError, OSError or RuntimeError."""
    # Hashing also reads the file into the page cache, where loading wants it.
    with open(order["path"], "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != order["sha256"]:
            raise _Damaged
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = order["path"]
    params.n_ctx = order["context"]
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH
    params.cpuparams.n_threads = order["threads"]
    params.cpuparams_batch.n_threads = order["prompt_threads"]
    params.cache_ram_mib = _CACHED_PROMPTS_MIB
    params.slot_prompt_similarity = 0.5
    params.warmup = False
    params.verbosity = -1
    # The engine insists on an HTTP server. It gets a socket nobody can reach and a key nobody has, and then loses the socket.
    shut_in = tempfile.mkdtemp(prefix="ostiary-")
    params.hostnames = [os.path.join(shut_in, "x.sock")]
    params.api_keys = [secrets.token_hex(32)]
    params.n_threads_http = 1
    params.ui = False
    params.endpoint_slots = False
    try:
        return xllamacpp.Server(params)
    finally:
        shutil.rmtree(shut_in, ignore_errors=True)


def _serve(server: Any, chats: "queue.Queue[Frame]", stopped: _Stopped, voice: _Voice) -> None:
    try:
        while True:
            _chat(server, chats.get(), stopped, voice)
    except BrokenPipeError:
        os._exit(0)


def _chat(server: Any, frame: Frame, stopped: _Stopped, voice: _Voice) -> None:
    number = frame["id"]
    ended = False

    def hear(chunk: Any) -> bool:
        nonlocal ended
        chunk = json.loads(chunk) if isinstance(chunk, (str, bytes)) else chunk
        if number in stopped:
            return True
        for said in _translate(number, chunk):
            ended = ended or "done" in said or "error" in said
            voice.say(said)
        return ended

    if number not in stopped:
        server.handle_chat_completions({**frame["body"], "stream": True, "return_progress": True}, hear)
    if not ended:
        voice.say({"id": number, "done": "stopped"})


def _translate(number: int, chunk: dict[str, Any]) -> list[Frame]:
    """The engine's chunk as frames of ours."""
    if error := chunk.get("error"):
        return [{"id": number, "error": str(error.get("message", error))[:500], "kind": str(error.get("type", ""))}]
    frames: list[Frame] = []
    for choice in chunk.get("choices", ()):
        if text := choice.get("delta", {}).get("content"):
            frames.append({"id": number, "text": text})
        if reason := choice.get("finish_reason"):
            counts = chunk.get("timings", {})
            frames.append(
                {
                    "id": number,
                    "done": reason,
                    "cached": counts.get("cache_n", 0),
                    "prompt": counts.get("prompt_n", 0),
                    "written": counts.get("predicted_n", 0),
                }
            )
    return frames or [{"id": number, "alive": True}]


if __name__ == "__main__":
    main()
