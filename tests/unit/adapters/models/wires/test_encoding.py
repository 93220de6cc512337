import msgspec

from ostiary.adapters.models.wires.encoding import Caches, MessageCache, arguments_text, call_id, to_json
from ostiary.contracts.content import Label, Message, Text, ToolCall, Trust, UserMessage
from ostiary.contracts.model import ToolSchema

OWNER = Label(trust=Trust.OWNER)


def message(text: str) -> UserMessage:
    return UserMessage(parts=(Text(text=text, label=OWNER),))


class Counting:
    def __init__(self, size: int) -> None:
        self.size = size
        self.calls = 0

    def __call__(self, _: Message) -> tuple[int, int]:
        self.calls += 1
        return self.calls, self.size


def test_a_message_is_encoded_once() -> None:
    cache: MessageCache[int] = MessageCache()
    encode = Counting(10)
    first, second = message("same"), message("same")
    assert cache.gather([first, second, first], encode) == [1, 2, 1]
    assert cache.gather([first, second], encode) == [1, 2]


def test_what_may_differ_next_time_is_not_kept() -> None:
    cache: MessageCache[int] = MessageCache()
    encode = Counting(-1)
    only = message("picture")
    assert cache.gather([only], encode) + cache.gather([only], encode) == [1, 2]


def test_the_cache_stays_within_its_bytes_and_keeps_the_newer() -> None:
    cache: MessageCache[int] = MessageCache()
    encode = Counting(1_000_000)
    history = [message(str(n)) for n in range(30)]
    cache.gather(history, encode)
    cache.gather(history[-3:], encode)
    assert encode.calls == 30
    cache.gather(history[:1], encode)
    assert encode.calls == 31


def test_a_tool_set_is_encoded_once_however_it_is_bundled() -> None:
    caches: Caches[bytes] = Caches()
    tool = ToolSchema(name="a", description="", parameters={})
    seen: list[int] = []

    def encode(tools: tuple[ToolSchema, ...]) -> bytes:
        seen.append(len(tools))
        return b"[]"

    for bundle in ([tool], [tool]):
        caches.tools(tuple(bundle), encode)
    assert seen == [1]


def test_half_a_surrogate_pair_is_mended_wherever_it_is() -> None:
    assert msgspec.json.decode(to_json({"a": ["x\ud800"], "b\ud800": ("y",)})) == {"a": ["x?"], "b?": ["y"]}


def test_a_strange_call_id_is_replaced_by_the_same_one_every_time() -> None:
    assert call_id("call_abc-1") == "call_abc-1"
    assert call_id("a|b") == call_id("a|b") != call_id("a|c")
    assert len(call_id("x" * 500)) <= 40


def test_arguments_are_left_as_the_model_wrote_them_if_they_are_an_object() -> None:
    assert arguments_text(ToolCall(id="1", name="a", arguments='{ "a" :1}')) == '{ "a" :1}'
    assert arguments_text(ToolCall(id="1", name="a", arguments="[1]")) == '{"invalid_arguments":"[1]"}'
