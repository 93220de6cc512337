"""Collecting an answer while it streams, within bounds."""

import secrets
from collections.abc import Callable
from typing import Literal

from ostiary.contracts.content import AnswerPart, Label, Text, Thinking, ToolCall, Trust
from ostiary.contracts.errors import ModelError
from ostiary.contracts.model import Answered, CallDelta, ModelEvent, ModelRef, StopReason, TextDelta, ThinkingDelta, Usage

MAX_TEXT = 4 * 1024 * 1024
MAX_CALLS = 128
MAX_ARGUMENTS = 1024 * 1024

# Whoever asked knows what the context was made of and labels the answer; until then nobody vouches for it.
MODEL_LABEL = Label(trust=Trust.UNTRUSTED, sources=("model",))

Emit = Callable[[ModelEvent], None]


class AnswerFull(Exception):
    """The text reached its limit: what there is, is the answer."""


class Block:
    """One part in the making. `replay` is given to the finished part as it is."""

    __slots__ = ("index", "kind", "name", "pieces", "provider_id", "replay", "size")

    def __init__(self, kind: Literal["text", "thinking", "call"], index: int = 0) -> None:
        self.kind = kind
        self.index = index
        self.pieces: list[str] = []
        self.size = 0
        self.provider_id = ""
        self.name = ""
        self.replay = ""


class Answer:
    """The parts in the order they were begun. Deltas are handed to `emit` as they come."""

    __slots__ = ("_blocks", "_by_key", "_calls", "_emit", "_size", "stop", "usage")

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._blocks: list[Block] = []
        self._by_key: dict[object, Block] = {}
        self._calls = 0
        self._size = 0
        self.stop: StopReason | None = None
        self.usage = Usage()

    def text(self, key: object, piece: str) -> None:
        """Raises AnswerFull when the limit is reached; what fits has been kept."""
        self._write(self.block(key, "text"), piece)

    def thinking(self, key: object, piece: str) -> Block:
        block = self.block(key, "thinking")
        self._write(block, piece)
        return block

    def block(self, key: object, kind: Literal["text", "thinking"]) -> Block:
        block = self._by_key.get(key)
        if block is None:
            block = self._by_key[key] = Block(kind)
            self._blocks.append(block)
        return block

    def known(self, key: object) -> Block | None:
        return self._by_key.get(key)

    def call(self, key: object) -> Block:
        """Raises ModelError for one call too many."""
        block = self._by_key.get(key)
        if block is None:
            if self._calls >= MAX_CALLS:
                raise ModelError(f"The model wanted more than {MAX_CALLS} tool calls at once.")
            block = self._by_key[key] = Block("call", self._calls)
            self._calls += 1
            self._blocks.append(block)
        return block

    def arguments(self, block: Block, piece: str) -> None:
        """Raises ModelError if the arguments of one call grow beyond their limit."""
        block.size += len(piece)
        if block.size > MAX_ARGUMENTS:
            raise ModelError(
                f"The model wrote more than {MAX_ARGUMENTS:,} characters of arguments for the tool {block.name[:80]!r}."
            )
        if piece:
            block.pieces.append(piece)
        self._emit(CallDelta(block.index, block.name, piece))

    @property
    def has_calls(self) -> bool:
        return self._calls > 0

    def answered(self, ref: ModelRef, stop: StopReason) -> Answered:
        if stop == "stop" and self._calls:
            # Several servers report a plain stop after tool calls.
            stop = "tool_calls"
        parts = tuple(part for block in self._blocks if (part := _finished(block)) is not None)
        return Answered(parts=parts, stop=stop, usage=self.usage, model=str(ref))

    def _write(self, block: Block, piece: str) -> None:
        if not piece:
            return
        room = MAX_TEXT - self._size
        if len(piece) > room:
            piece = piece[:room]
        self._size += len(piece)
        block.pieces.append(piece)
        self._emit(TextDelta(piece) if block.kind == "text" else ThinkingDelta(piece))
        if self._size >= MAX_TEXT:
            raise AnswerFull


def new_call_id() -> str:
    """For wires whose calls have no id of their own."""
    return f"call_{secrets.token_hex(12)}"


def _finished(block: Block) -> AnswerPart | None:
    text = "".join(block.pieces)
    if block.kind == "call":
        return ToolCall(id=block.provider_id or new_call_id(), name=block.name, arguments=text or "{}", replay=block.replay)
    if block.kind == "thinking":
        return Thinking(text=text, replay=block.replay) if text or block.replay else None
    return Text(text=text, label=MODEL_LABEL) if text else None
