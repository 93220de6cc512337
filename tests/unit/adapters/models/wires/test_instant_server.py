"""The benchmark's server: cheap, and still proper HTTP for a real client."""

import sys
from subprocess import PIPE

import anyio
import msgspec

from ostiary.adapters.egress import Egress
from ostiary.adapters.models.wires import make_wire
from ostiary.contracts.content import Label, Text, Trust, UserMessage
from ostiary.contracts.model import Answered, ModelChoice, ModelFacts, ModelRef, ModelRequest


async def test_it_answers_streamed_and_whole_and_counts() -> None:
    command = [sys.executable, "-m", "ostiary.kit.model_servers.instant", "--port", "0", "--chunks", "3"]
    with anyio.fail_after(20):
        async with await anyio.open_process(command, stdout=PIPE) as process:
            assert process.stdout is not None
            ready, url = (await process.stdout.receive()).decode().split()
            async with Egress() as egress:
                ref = ModelRef("kit", "instant")
                wire = make_wire("openai-completions", url, {}, egress, lambda _: ModelFacts(ref=ref))
                message = UserMessage(parts=(Text(text="hi", label=Label(trust=Trust.OWNER)),))
                request = ModelRequest(choice=ModelChoice(primary=ref), system=(), messages=[message])
                async with wire.stream(request, ref, "") as events:
                    *_, answered = [event async for event in events]
                async with egress.configured(url).post("/chat/completions", b'{"model":"x","messages":[]}') as response:
                    whole = msgspec.json.decode(await response.body())
                async with egress.configured(url.removesuffix("/v1")).get("/count") as response:
                    count = msgspec.json.decode(await response.body())
            process.terminate()
    assert ready == "ready"
    assert isinstance(answered, Answered)
    assert [part.text for part in answered.parts] == ["word0 word1 word2 "]  # type: ignore[union-attr]
    assert whole["choices"][0]["message"]["content"] == "word0 word1 word2 "
    assert count == {"requests": 2, "last_body_bytes": 27}
