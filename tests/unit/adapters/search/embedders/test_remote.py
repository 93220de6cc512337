import math
from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from aiohttp import web

from ostiary.adapters.egress import Egress
from ostiary.adapters.search.embedders.providers import Provider
from ostiary.adapters.search.embedders.remote import Remote, RemoteOptions
from ostiary.contracts.errors import BadInput, EmbedderUnavailable, ModelMisconfigured
from ostiary.kit.clock import ManualClock
from tests.unit.adapters.search.embedders.servers import KEY, Body, Server, gemini, numbers, ollama, openai, serving, voyage

SPOKEN = {"openai": openai, "gemini": gemini, "voyage": voyage, "ollama": ollama}
PREFIX = {"openai": "/v1", "gemini": "/v1beta", "voyage": "/v1", "ollama": ""}
PROVIDERS: tuple[Provider, ...] = ("openai", "gemini", "voyage", "ollama")
MODELS = {"openai": "text-embedding-3-small", "gemini": "gemini-embedding-001", "voyage": "voyage-3.5", "ollama": "all-minilm"}


class EagerClock(ManualClock):
    """Time passes at once for whoever sleeps, and it is written down."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@asynccontextmanager
async def talking(
    provider: Provider = "openai", clock: EagerClock | None = None, **given: Any
) -> AsyncIterator[tuple[Remote, Server]]:
    async with serving(SPOKEN[provider]) as server, Egress() as egress:
        settings = {"model": MODELS[provider], "base_url": server.url + PREFIX[provider], "dimensions": 256, **given}
        yield Remote(provider, egress, secret=lambda: KEY, clock=clock or EagerClock(), **settings), server


def direction(raw: bytes) -> list[float]:
    return array("f", raw).tolist()


def scaled(text: str, length: int) -> list[float]:
    values = numbers(text, length)
    norm = math.sqrt(sum(value * value for value in values))
    return [value / norm for value in values]


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_each_provider_gives_one_vector_of_length_1_per_text_in_the_order_asked(provider: Provider) -> None:
    async with talking(provider) as (remote, server):
        made = await remote.embed(["a bicycle", "two pears", "rain"], "passage")
    for raw, text in zip(made, ["a bicycle", "two pears", "rain"], strict=True):
        assert direction(raw) == pytest.approx(scaled(text, 256), abs=1e-6)
    assert len(server.bodies) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_the_models_own_length_is_used_when_none_is_configured(provider: Provider) -> None:
    own = {"openai": "text-embedding-3-small", "gemini": "gemini-embedding-001", "voyage": "voyage-3.5", "ollama": "bge-m3"}
    async with talking(provider, model=own[provider], dimensions=0) as (remote, server):
        assert remote.dimensions == {"openai": 1536, "gemini": 3072, "voyage": 1024, "ollama": 1024}[provider]
        server.script.append(lambda answer: _lengthened(answer, remote.dimensions))
        made = await remote.embed(["tea"], "query")
    assert len(made[0]) == 4 * remote.dimensions
    assert "imension" not in str(server.bodies[0])


def _lengthened(answer: Body, length: int) -> Body:
    """Ollama's models differ in their own length."""
    return {**answer, "embeddings": [numbers("tea", length)]} if "total_duration" in answer else answer


async def test_gemini_is_told_what_the_text_is_for() -> None:
    async with talking("gemini") as (remote, server):
        await remote.embed(["where?"], "query")
        await remote.embed(["here."], "passage")
    assert [body["requests"][0]["taskType"] for body in server.bodies] == ["RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"]
    assert server.bodies[0]["requests"][0]["outputDimensionality"] == 256


async def test_a_gemini_model_that_reads_its_task_from_the_text_is_told_there() -> None:
    async with talking("gemini", model="gemini-embedding-2") as (remote, server):
        await remote.embed(["where?"], "query")
    asked = server.bodies[0]["requests"][0]
    assert "taskType" not in asked
    assert asked["content"]["parts"][0]["text"] == "task: search result | query: where?"


async def test_voyage_is_told_what_the_text_is_for() -> None:
    async with talking("voyage") as (remote, server):
        await remote.embed(["where?"], "query")
        await remote.embed(["here."], "passage")
    assert [body["input_type"] for body in server.bodies] == ["query", "document"]


async def test_a_local_model_gets_the_words_it_was_trained_with() -> None:
    async with talking("ollama", model="nomic-embed-text:latest") as (remote, server):
        await remote.embed(["where?"], "query")
        await remote.embed(["here."], "passage")
    assert [body["input"] for body in server.bodies] == [["search_query: where?"], ["search_document: here."]]


async def test_the_address_that_people_configure_for_ollama_works() -> None:
    async with serving(ollama) as server, Egress() as egress:
        remote = Remote("ollama", egress, secret=str, clock=EagerClock(), base_url=server.url + "/v1/", dimensions=64)
        assert len((await remote.embed(["tea"], "query"))[0]) == 256


async def test_texts_go_out_in_batches_and_come_back_in_order() -> None:
    texts = [f"text number {number}" for number in range(23)]
    async with talking(options=RemoteOptions(size=5)) as (remote, server):
        made = await remote.embed(texts, "passage")
    assert sorted(len(body["input"]) for body in server.bodies) == [3, 5, 5, 5, 5]
    assert direction(made[17]) == pytest.approx(scaled("text number 17", 256), abs=1e-6)


async def test_a_batch_never_exceeds_the_providers_own_limits() -> None:
    async with talking("gemini", options=RemoteOptions(size=2000)) as (remote, server):
        await remote.embed(["x"] * 230, "passage")
    assert sorted(len(body["requests"]) for body in server.bodies) == [30, 100, 100]


async def test_a_batch_is_closed_when_it_holds_enough_characters() -> None:
    async with talking("ollama", options=RemoteOptions(characters=60_000)) as (remote, server):
        await remote.embed(["y" * 60_000, "z" * 60_000], "passage")
    assert [len(body["input"]) for body in server.bodies] == [1, 1]


async def test_no_more_requests_than_allowed_are_under_way() -> None:
    async with talking(options=RemoteOptions(size=1, concurrency=2)) as (remote, server), anyio.create_task_group() as group:
        server.gate = anyio.Event()
        group.start_soon(remote.embed, [str(number) for number in range(6)], "passage")
        with anyio.fail_after(5):
            await server.waiting.acquire()
            await server.waiting.acquire()
        server.gate.set()
    assert server.most_at_once == 2
    assert len(server.bodies) == 6


async def test_a_long_text_is_cut_and_an_empty_one_is_still_a_text() -> None:
    async with talking(options=RemoteOptions(characters=10)) as (remote, server):
        made = await remote.embed(["0123456789abc", "  ", "half \ud800"], "passage")
    assert server.bodies[0]["input"] == ["0123456789", ".", "half ?"]
    assert len(made) == 3


async def test_nothing_to_embed_asks_nobody() -> None:
    async with talking() as (remote, server):
        assert await remote.embed([], "passage") == ()
    assert server.bodies == []


async def test_a_busy_provider_is_asked_again_after_the_time_it_named() -> None:
    clock = EagerClock()
    async with talking(clock=clock) as (remote, server):
        server.script += [web.Response(status=429, headers={"Retry-After": "7"}), web.Response(status=503)]
        assert len(await remote.embed(["tea"], "query")) == 1
    assert clock.slept == [7.0, 1.0]


async def test_a_provider_that_stays_away_is_given_up_on_after_a_few_attempts() -> None:
    clock = EagerClock()
    async with talking(clock=clock) as (remote, server):
        server.script += [web.Response(status=500, text="overloaded") for _ in range(9)]
        with pytest.raises(EmbedderUnavailable, match=r"openai answered 500: overloaded\. It was asked 4 times"):
            await remote.embed(["tea"], "query")
    assert clock.slept == [0.5, 1.0, 2.0]


async def test_a_provider_that_asks_for_a_long_pause_is_given_up_on_at_once() -> None:
    async with talking() as (remote, server):
        server.script.append(web.Response(status=429, headers={"Retry-After": "3600"}))
        with pytest.raises(EmbedderUnavailable, match="again in 3600 seconds"):
            await remote.embed(["tea"], "query")
    assert len(server.bodies) == 1


async def test_a_wrong_key_is_not_tried_again_and_never_shown() -> None:
    async with talking() as (remote, server):
        server.script.append(web.Response(status=401, text=f"Incorrect API key provided: {KEY}"))
        with pytest.raises(EmbedderUnavailable) as caught:
            await remote.embed(["tea"], "query")
    assert KEY not in str(caught.value)
    assert "401" in str(caught.value)
    assert "memory.search.apiKey" in caught.value.hint
    assert len(server.bodies) == 1


async def test_a_request_that_the_provider_refuses_is_not_repeated() -> None:
    async with talking("voyage", dimensions=300) as (remote, server):
        with pytest.raises(EmbedderUnavailable, match=r"400: .*output_dimension"):
            await remote.embed(["tea"], "query")
    assert len(server.bodies) == 1


async def test_one_failed_batch_fails_the_whole_call() -> None:
    async with talking(options=RemoteOptions(size=1, concurrency=1)) as (remote, server):
        server.script += [lambda answer: answer, web.Response(status=400)]
        with pytest.raises(EmbedderUnavailable):
            await remote.embed(["one", "two", "three"], "passage")
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ({"data": [{"index": 0, "embedding": [1.0, 2.0]}]}, "vectors of 2 numbers where 256 were expected"),
        ({"data": []}, "sent 0 vectors for 1 texts"),
        ({"data": [{"index": 0, "embedding": [0.0] * 256}]}, "without direction"),
        ({"data": [{"index": 5, "embedding": [1.0] * 256}]}, "cannot be read"),
        ({"data": [{"index": 0, "embedding": ["NaN"] * 256}]}, "cannot be read"),
        ({"object": "list"}, "cannot be read"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused(answer: Body, sentence: str) -> None:
    async with talking() as (remote, server):
        server.script += [lambda proper: answer] * 4
        with pytest.raises(EmbedderUnavailable, match=sentence):
            await remote.embed(["tea"], "query")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "null"])
async def test_what_is_not_a_number_is_refused(number: str) -> None:
    text = f'{{"data": [{{"index": 0, "embedding": [{number}{", 1.0" * 255}]}}]}}'
    async with talking() as (remote, server):
        server.script += [web.Response(text=text, content_type="application/json") for _ in range(4)]
        with pytest.raises(EmbedderUnavailable, match=r"cannot be read|other than numbers"):
            await remote.embed(["tea"], "query")


async def test_a_silent_provider_is_left_after_the_time_limit() -> None:
    async with talking(options=RemoteOptions(seconds=0.05, attempts=2)) as (remote, server):
        server.gate = anyio.Event()
        with anyio.fail_after(5), pytest.raises(EmbedderUnavailable, match=r"took longer than|silent for"):
            await remote.embed(["tea"], "passage")
        server.gate.set()
    assert len(server.bodies) == 2


async def test_a_question_that_waits_too_long_is_given_up_with_what_the_provider_said() -> None:
    clock = ManualClock()
    async with serving(openai) as server, Egress() as egress:
        remote = Remote(
            "openai", egress, secret=lambda: KEY, clock=clock, base_url=server.url, options=RemoteOptions(query_seconds=0.1)
        )
        server.script.append(web.Response(status=503, text="maintenance"))
        with anyio.fail_after(5), pytest.raises(EmbedderUnavailable, match=r"503: maintenance\. There was no answer within 0\.1"):
            await remote.embed(["tea"], "query")


async def test_a_provider_that_is_not_there_is_named() -> None:
    async with Egress() as egress:
        remote = Remote("ollama", egress, secret=str, clock=EagerClock(), base_url="http://127.0.0.1:1", dimensions=8)
        with pytest.raises(EmbedderUnavailable, match=r"127\.0\.0\.1:1 could not be reached"):
            await remote.embed(["tea"], "query")


async def test_a_missing_key_is_said_without_asking_the_provider() -> None:
    def missing() -> str:
        raise ModelMisconfigured("no credential is stored", hint="ostiary models auth add openai")

    async with serving(openai) as server, Egress() as egress:
        remote = Remote("openai", egress, secret=missing, clock=EagerClock(), base_url=server.url)
        with pytest.raises(EmbedderUnavailable, match="no credential is stored") as caught:
            await remote.embed(["tea"], "query")
    assert caught.value.hint == "ostiary models auth add openai"
    assert server.bodies == []


async def test_the_name_tells_model_place_and_length_apart() -> None:
    async with Egress() as egress:

        def name(provider: Provider, **given: Any) -> str:
            return Remote(provider, egress, secret=str, clock=EagerClock(), **given).name

        names = [
            name("openai"),
            name("openai", dimensions=256),
            name("openai", model="text-embedding-3-large"),
            name("openai", base_url="http://127.0.0.1:9/v1"),
            name("voyage"),
            name("gemini"),
        ]
    assert len(set(names)) == len(names)
    assert names[0] == "openai:text-embedding-3-small:1536"


async def test_an_unknown_model_needs_its_length_and_an_address_must_be_one() -> None:
    async with Egress() as egress:
        with pytest.raises(BadInput, match="own-model are is not known"):
            Remote("openai", egress, secret=str, clock=EagerClock(), model="own-model")
        with pytest.raises(BadInput, match="http"):
            Remote("openai", egress, secret=str, clock=EagerClock(), base_url="ftp://there")
