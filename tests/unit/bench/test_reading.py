"""What the bench reads from others: the kernel's tables, answers on the wire, requests that a model received."""

import json
import os

import pytest
from bench.load import is_whole, request
from bench.machine import Moment, busy_seconds, cpu_seconds, others, parse_rollup, tree
from bench.scenes.prompt import fixed_part

HEAD = b"HTTP/1.1 200 OK\r\n"


def test_memory_is_read_from_the_kernels_summary() -> None:
    text = "00400000-7fff [rollup]\nRss:        2048 kB\nPss:        1024 kB\nPss_Anon:    512 kB\n"
    assert parse_rollup(text) == (2048 * 1024, 1024 * 1024)


def test_waiting_for_the_disk_is_not_being_busy() -> None:
    assert busy_seconds([100, 0, 50, 90_000, 7_000, 10, 40, 0, 0, 0]) == 2.0


def test_what_others_used_is_all_that_was_busy_but_us() -> None:
    assert others(Moment(0, 10, 1), Moment(10, 20, 6), cores=2) == pytest.approx(25)


def test_this_process_is_in_its_own_tree_and_has_used_time() -> None:
    assert tree(os.getpid())[0] == os.getpid()
    assert cpu_seconds(os.getpid()) > 0


@pytest.mark.parametrize(
    ("received", "whole"),
    [
        (HEAD + b"Content-Length: 3\r\n\r\nab", False),
        (HEAD + b"Content-Length: 3\r\n\r\nabc", True),
        (HEAD + b"content-length: 0\r\n", False),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", False),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", True),
    ],
)
def test_an_answer_is_whole_by_its_length_or_its_last_chunk(received: bytes, whole: bool) -> None:
    assert is_whole(bytearray(received)) is whole


def test_a_request_states_the_length_of_its_body() -> None:
    head, _, body = request("127.0.0.1:1", "token", "user", "hi", streams=True).partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert json.loads(body)["stream"] is True


def test_the_fixed_part_is_the_system_prompt_and_the_tools_without_the_conversation() -> None:
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]
    assert fixed_part(json.dumps({"messages": messages, "tools": [{"a": 1}]}).encode()) == 'Be kind.[{"a":1}]'
    assert fixed_part(json.dumps({"messages": messages[:1]}).encode()) == "Be kind."
