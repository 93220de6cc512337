"""The wire to the embedded model: fetches it if need be, starts its process on first use, ends it when idle."""

import importlib.util
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup

from ostiary.adapters.models.embedded import prompt, router
from ostiary.adapters.models.embedded.catalogue import CATALOGUE, QWEN, Weights, facts, find
from ostiary.adapters.models.embedded.fetching import Fetching, Pull
from ostiary.adapters.models.embedded.process import (
    COMMAND,
    Child,
    ChildFailed,
    ChildGone,
    Order,
    WeightsDamaged,
    default_threads,
)
from ostiary.adapters.models.embedded.talk import Talk, talk, total
from ostiary.adapters.models.embedded.weights import PULL_COMMAND, Report, find_weights, pull
from ostiary.adapters.models.wires.answer import MODEL_LABEL, new_call_id
from ostiary.adapters.models.wires.terms import embedded_form, forbids_calls, forces_call, refused
from ostiary.adapters.models.wires.wire import ListedModel
from ostiary.contracts.content import Text, ToolCall
from ostiary.contracts.errors import ModelMisconfigured, ModelUnavailable
from ostiary.contracts.model import (
    Answered,
    CallDelta,
    ModelEvent,
    ModelFacts,
    ModelRef,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
    Usage,
)
from ostiary.contracts.records import dataclass

_MIB = 1024 * 1024
_SHOWN_EVERY = 5
# Greedy writing makes a model of this size repeat itself for ever.
_SAMPLING = {"temperature": 0.3, "top_p": 0.9, "min_p": 0.05, "repeat_penalty": 1.1, "repeat_last_n": 128}
_DEFAULT_TOKENS = 512
_MARGIN_TOKENS = 160
_HISTORY_TOKENS = 2400


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How much of the machine the model may take, and how long anything may last. `threads` 0 means: by the number of cores."""

    idle_seconds: float = 300.0
    load_seconds: float = 120.0
    silence_seconds: float = 120.0
    stop_seconds: float = 3.0
    queue_seconds: float = 600.0
    retry_seconds: float = 30.0
    queue: int = 16
    threads: int = 0
    nice: int = 5
    memory: int = 1536 * _MIB
    fetches: bool = True
    command: tuple[str, ...] = COMMAND


class Embedded:
    """Implements Wire. `async with Embedded(directory)`: leaving ends the child and any download.

    Requests are answered one at a time in the order they came; beyond `Settings.queue` of them the next is refused.
    """

    def __init__(self, directory: Path, settings: Settings | None = None, *, fetch: Pull = pull) -> None:
        self._directory = directory
        self._settings = settings or Settings()
        self._fetch = fetch
        self._fetching: dict[str, Fetching] = {}
        self._failed: dict[str, tuple[float, ModelUnavailable]] = {}
        self._turn = anyio.Semaphore(1)
        self._admitted = 0
        self._number = 0
        self._child: Child | None = None
        self._used_at = 0.0
        self._started = anyio.Event()
        self._group: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._group = await anyio.create_task_group().__aenter__()
        self._group.start_soon(self._end_when_idle)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self._group is not None
        group, self._group = self._group, None
        group.cancel_scope.cancel()
        try:
            if isinstance(error, Exception):
                # The caller's own error is not the group's: given to it, it would come back wrapped.
                await group.__aexit__(None, None, None)
                return None
            return await group.__aexit__(kind, error, trace)
        finally:
            await self._end_child()

    def facts(self, model: str = QWEN.model) -> ModelFacts:
        return facts(model)

    def available(self, model: str = QWEN.model) -> str:
        """Empty if a request could be answered now, else one sentence that says what to type."""
        weights = find(model)
        if not _engine_is_installed():
            return "The embedded model's engine is not installed: pip install 'ostiary[embedded]'."
        if find_weights(self._directory, weights) is None:
            return f"The embedded model has not been fetched yet ({weights.size / 1e6:.0f} MB): {PULL_COMMAND}."
        return ""

    @property
    def child_pid(self) -> int | None:
        """The running child, for status pages."""
        return self._child.pid if self._child is not None and self._child.alive else None

    async def list_models(self, secret: str = "") -> tuple[ListedModel, ...]:
        return tuple(
            ListedModel(id=each.model, name=each.name, context_window=each.context, max_tokens=each.max_tokens, sees_images=False)
            for each in CATALOGUE
        )

    async def ensure_weights(self, report: Report | None = None, model: str = QWEN.model) -> None:
        """Returns when the file is there. The download goes on if the caller gives up; requests wait for the same one.

        Raises ModelUnavailable.
        """
        async with aclosing(self._weights_arriving(find(model))) as arriving:
            async for state in arriving:
                if report is not None:
                    report(*state)

    @asynccontextmanager
    async def stream(self, request: ModelRequest, ref: ModelRef, secret: str = "") -> AsyncIterator[AsyncIterator[ModelEvent]]:
        """One answer. While the model is being fetched, ThinkingDelta says how far. Leaving stops the model.

        Raises ModelUnavailable, ModelMisconfigured, ContextOverflow or ModelRejected.
        """
        async with aclosing(self._events(request, find(ref.model))) as events:
            yield events

    async def _events(self, request: ModelRequest, weights: Weights) -> AsyncGenerator[ModelEvent, None]:
        if forces_call(request):
            raise refused("tool_choice", weights.ref, "cannot be made to call a tool")
        if not _engine_is_installed():
            raise ModelMisconfigured(
                "The embedded model's engine is not installed.",
                hint="Type: pip install 'ostiary[embedded]', or configure a provider.",
            )
        if self._admitted >= self._settings.queue:
            raise ModelUnavailable(
                f"The embedded model is busy: {self._admitted} requests are waiting already.", hint="Try again in a minute."
            )
        self._admitted += 1
        try:
            shown = -1
            async with aclosing(self._weights_arriving(weights)) as arriving:
                async for _, done, size in arriving:
                    percent = done * 100 // size
                    if percent // _SHOWN_EVERY != shown:
                        shown = percent // _SHOWN_EVERY
                        yield ThinkingDelta(f"fetching the embedded model: {percent} %\n")
            await self._take_turn()
            try:
                async with aclosing(self._answer(request, weights)) as answer:
                    async for event in answer:
                        yield event
            finally:
                self._used_at = anyio.current_time()
                self._turn.release()
        finally:
            self._admitted -= 1

    async def _take_turn(self) -> None:
        try:
            with anyio.fail_after(self._settings.queue_seconds):
                await self._turn.acquire()
        except TimeoutError:
            raise ModelUnavailable(
                f"The embedded model was busy with other requests for {self._settings.queue_seconds:g} s.",
                hint="Try again later.",
            ) from None

    async def _answer(self, request: ModelRequest, weights: Weights) -> AsyncGenerator[ModelEvent, None]:
        child = await self._running(weights)
        spent = Usage(cost=0.0)
        question = prompt.last_question(request.messages) if not forbids_calls(request) else ""
        if weights.chooses_tools and request.tools and question and router.worth_asking(question, request.tools):
            choice, spent = await self._choose(child, request, question)
            if choice is not None:
                yield CallDelta(0, choice.tool, choice.arguments)
                call = ToolCall(id=new_call_id(), name=choice.tool, arguments=choice.arguments)
                yield Answered(parts=(call,), stop="tool_calls", usage=spent, model=str(weights.ref))
                return
        pieces: list[str] = []
        async with self._talk(child, _body(request, weights)) as said, aclosing(said.text()) as texts:
            async for text in texts:
                pieces.append(text)
                yield TextDelta(text)
        parts = (Text(text="".join(pieces), label=MODEL_LABEL),) if pieces else ()
        yield Answered(parts=parts, stop=said.reason, usage=total(spent, said.usage), model=str(weights.ref))

    async def _choose(self, child: Child, request: ModelRequest, question: str) -> tuple[router.Choice | None, Usage]:
        body = {
            "messages": router.messages(question, request.tools),
            "json_schema": router.schema(request.tools),
            "max_tokens": router.MAX_TOKENS,
            "temperature": 0.0,
        }
        async with self._talk(child, body) as said:
            text = "".join([piece async for piece in said.text()])
        return router.parse(text, question, request.tools), said.usage

    def _talk(self, child: Child, body: Mapping[str, object]) -> AbstractAsyncContextManager[Talk]:
        self._number += 1
        return talk(child, self._number, body, silence=self._settings.silence_seconds, patience=self._settings.stop_seconds)

    async def _weights_arriving(self, weights: Weights) -> AsyncGenerator[tuple[str, int, int], None]:
        """How far the download is, until the file is there. Raises ModelUnavailable."""
        if find_weights(self._directory, weights) is not None:
            return
        if not self._settings.fetches:
            raise ModelUnavailable("The embedded model has not been fetched yet.", hint=f"Type: {PULL_COMMAND}")
        failed = self._failed.get(weights.model)
        if failed is not None and anyio.current_time() < failed[0] + self._settings.retry_seconds:
            raise ModelUnavailable(str(failed[1]), hint=failed[1].hint)
        fetching = self._fetching.get(weights.model)
        if fetching is None:
            if self._group is None:
                raise ModelUnavailable("The embedded model is not open.")
            fetching = self._fetching[weights.model] = Fetching(self._directory, weights, self._fetch)
            self._group.start_soon(self._fetch_once, weights, fetching)
        async with aclosing(fetching.watch()) as states:
            async for state in states:
                yield state

    async def _fetch_once(self, weights: Weights, fetching: Fetching) -> None:
        try:
            await fetching.run()
        finally:
            del self._fetching[weights.model]
        if fetching.error is not None:
            self._failed[weights.model] = (anyio.current_time(), fetching.error)

    async def _running(self, weights: Weights) -> Child:
        """The child with this model. Raises ModelUnavailable."""
        path = self._directory / weights.file
        child = self._child
        if child is not None and child.alive and child.order.path == path:
            return child
        await self._end_child()
        _refuse_without_memory(weights)
        try:
            self._child = await Child.start(self._order(path, weights), self._settings.load_seconds)
        except WeightsDamaged:
            path.unlink(missing_ok=True)
            raise ModelUnavailable(
                "The embedded model's file was damaged and has been removed.", hint=f"It is fetched again by: {PULL_COMMAND}"
            ) from None
        except (ChildFailed, ChildGone) as error:
            raise ModelUnavailable(
                f"The embedded model could not be started: {error}.", hint="Try again; ostiary doctor tells more."
            ) from None
        self._used_at = anyio.current_time()
        self._started.set()
        return self._child

    def _order(self, path: Path, weights: Weights) -> Order:
        settings = self._settings
        threads, prompt_threads = (settings.threads, settings.threads) if settings.threads else default_threads()
        return Order(
            path=path,
            sha256=weights.sha256,
            context=weights.context,
            memory=settings.memory,
            nice=settings.nice,
            threads=threads,
            prompt_threads=prompt_threads,
            command=settings.command,
        )

    async def _end_child(self) -> None:
        child, self._child = self._child, None
        if self._started.is_set():
            # One that is not set may have a waiter, who must hear of the next child.
            self._started = anyio.Event()
        if child is not None:
            await child.kill()

    async def _end_when_idle(self) -> None:
        while True:
            await self._started.wait()
            await anyio.sleep(max(self._used_at + self._settings.idle_seconds - anyio.current_time(), 0.01))
            async with self._turn:
                if anyio.current_time() >= self._used_at + self._settings.idle_seconds:
                    await self._end_child()


def _body(request: ModelRequest, weights: Weights) -> Mapping[str, object]:
    tokens = min(request.max_tokens or _DEFAULT_TOKENS, weights.max_tokens)
    room = min(weights.context - tokens - _MARGIN_TOKENS, _HISTORY_TOKENS)
    fitted = prompt.fit(prompt.shorten_system(request.system), prompt.entries(request.messages), room)
    sampling: dict[str, object] = dict(_SAMPLING)
    if request.temperature is not None:
        sampling["temperature"] = request.temperature
    messages = [{"role": entry.role, "content": entry.content} for entry in fitted]
    return {"messages": messages, "max_tokens": tokens, **sampling, **embedded_form(request)}


def _engine_is_installed() -> bool:
    return importlib.util.find_spec("xllamacpp") is not None


def _refuse_without_memory(weights: Weights) -> None:
    """Better a sentence than a machine that swaps. Where the kernel does not say, nothing is refused."""
    try:
        with open("/proc/meminfo") as file:
            free = next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return
    if free < weights.ram:
        raise ModelUnavailable(
            f"The embedded model needs {weights.ram // _MIB} MB of memory, and {free // _MIB} MB are free.",
            hint="Close something, choose embedded/smollm2-135m, or configure a provider.",
        )
