import base64
import json
import struct
from collections.abc import Sequence
from typing import Any

import pytest

from ostiary.contracts.errors import EmbedderUnavailable
from ostiary.contracts.search import Embedder, EmbedKind
from ostiary.gateway.app import Door, api_session
from ostiary.gateway.auth import Gate
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api.choosing import Desk
from ostiary.gateway.openai_api.pages import openai_pages
from tests.unit.gateway.fakes import TOKEN, Client, FakeCatalogue, FakeEngine, Reply


class Fixed:
    name = "fixed-4"
    dimensions = 4

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> tuple[bytes, ...]:
        return tuple(struct.pack("<4f", 0.6, 0.0, 0.0, 0.8) for _ in texts)


class Away(Fixed):
    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> tuple[bytes, ...]:
        raise EmbedderUnavailable("the embedder is away")


def client(embedder: Embedder | None = None, *, is_on: bool = True) -> Client:
    made = Client()
    desk = Desk(
        engine=FakeEngine(), catalogue=FakeCatalogue(), agents=lambda: ("main",), session_for=api_session, limits=Limits(),
        now=lambda: 0.0,
    )  # fmt: skip
    gate = Gate(lambda: TOKEN, monotonic=lambda: 0.0)
    made.app = Door(gate, pages=openai_pages(desk, lambda name: is_on and name == "embeddings", embedder))
    return made


async def ask(made: Client, **body: Any) -> Reply:
    return await made.call("POST", "/v1/embeddings", json.dumps(body).encode())


async def test_texts_come_back_as_vectors_in_openais_shape() -> None:
    reply = await ask(client(Fixed()), model="fixed-4", input=["one", "two two"])
    assert reply.status == 200
    assert [row["index"] for row in reply.json["data"]] == [0, 1]
    assert reply.json["data"][0]["embedding"] == pytest.approx([0.6, 0.0, 0.0, 0.8])
    assert (reply.json["object"], reply.json["model"]) == ("list", "fixed-4")
    assert reply.json["usage"] == {"prompt_tokens": 3, "total_tokens": 3}


async def test_one_text_and_base64_are_understood() -> None:
    reply = await ask(client(Fixed()), input="one", encoding_format="base64")
    packed = base64.b64decode(reply.json["data"][0]["embedding"])
    assert struct.unpack("<4f", packed) == pytest.approx((0.6, 0.0, 0.0, 0.8))


async def test_fewer_dimensions_have_length_one_again() -> None:
    reply = await ask(client(Fixed()), input="one", dimensions=1)
    assert reply.json["data"][0]["embedding"] == pytest.approx([1.0])


@pytest.mark.parametrize(
    "body",
    [{}, {"input": []}, {"input": ""}, {"input": [1, 2]}, {"input": [[1, 2]]}, {"input": ["a"] * 257}, {"input": "a" * 32_001},
     {"input": "a", "dimensions": 5}, {"input": "a", "dimensions": 0}, {"input": "a", "encoding_format": "hex"}],
)  # fmt: skip
async def test_what_cannot_be_embedded_is_refused(body: dict[str, Any]) -> None:
    assert (await ask(client(Fixed()), **body)).status == 400


async def test_another_model_is_not_pretended() -> None:
    reply = await ask(client(Fixed()), input="a", model="text-embedding-3-small")
    assert (reply.status, reply.error["code"]) == (404, "model_not_found")


async def test_without_an_embedder_or_while_it_is_away_that_is_said() -> None:
    assert (await ask(client(None), input="a")).status == 501
    away = await ask(client(Away()), input="a")
    assert (away.status, away.error["code"]) == (503, "embedder_unavailable")


async def test_it_does_not_exist_unless_it_is_switched_on() -> None:
    assert (await ask(client(Fixed(), is_on=False), input="a")).status == 404
