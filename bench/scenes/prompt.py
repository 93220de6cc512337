"""What a model is sent for "hi", read from what it received."""

import json
from collections.abc import Iterator

from bench.rows import Row
from bench.stage import Stage, get
from ostiary.core.agent.tokens import estimate_tokens


def prompt(stage: Stage) -> Iterator[Row]:
    stage.say("prompt")
    sizes, tokens, whole = [], [], []
    with stage.scripted_model() as model, stage.gateway(stage.home(model)) as gateway:
        # The very first session is sent the introduction as well; the second one is every later session.
        for user in ("first", "second"):
            stage.turn(gateway, user)
            body = get(model.removesuffix("/v1") + "/last")
            sent = fixed_part(body)
            sizes.append(len(sent))
            tokens.append(estimate_tokens(sent))
            whole.append(len(body))
    note = f"largest counts: first session {sizes[0]:,}, later ones {sizes[1]:,}"
    yield Row("prompt", 'sent for "hi": system prompt + tool schemas', "chars", (max(sizes),), note)
    yield Row("prompt_tokens", "the same in tokens, estimated", "", (max(tokens),))
    yield Row("prompt_body", "the whole request body", "bytes", (max(whole),))


def fixed_part(body: bytes) -> str:
    """All that is not the conversation: the system messages and the tools as they were sent."""
    request = json.loads(body)
    system = [_text(message["content"]) for message in request["messages"] if message["role"] in ("system", "developer")]
    tools = request.get("tools")
    return "".join(system) + (json.dumps(tools, ensure_ascii=False, separators=(",", ":")) if tools else "")


def _text(content: str | list[dict[str, str]]) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
