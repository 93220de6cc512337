"""The pages of OpenAI's interfaces. A path that ends in `/*` stands for everything below it."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from ostiary.contracts.errors import EmbedderUnavailable
from ostiary.contracts.search import Embedder
from ostiary.gateway.asgi import App, Receive, Scope, Send, respond
from ostiary.gateway.auth import caller_of, require
from ostiary.gateway.errors import ApiError, sentence
from ostiary.gateway.limits import Limits
from ostiary.gateway.openai_api.choosing import NAME, Desk
from ostiary.gateway.openai_api.endpoint import completions
from ostiary.gateway.openai_api.responses import responses, retrieve

CHAT = "chatCompletions"
RESPONSES = "responses"
EMBEDDINGS = "embeddings"
_MODELS = "/v1/models/"
_RESPONSES = "/v1/responses/"


def openai_pages(desk: Desk, is_on: Callable[[str], bool], embedder: Embedder | None = None) -> Mapping[str, Mapping[str, App]]:
    """`is_on` says at each request whether the interface of that name (`chatCompletions`, `responses`, `embeddings`) is
    switched on; one that is off does not exist. The models are listed while either of the first two is on."""
    either = (CHAT, RESPONSES)

    def page(names: Collection[str], needs: str, app: App) -> App:
        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            caller = caller_of(scope)
            # The owner's own command line speaks through this page, too; what is switched off is the interface for programs.
            if caller.kind != "run" and not any(map(is_on, names)):
                raise ApiError(404, f"There is nothing at {scope['path'][:200]}.", code="not_found")
            require(caller, needs)
            await app(scope, receive, send)

        return serve

    return {
        "/v1/chat/completions": {"POST": page([CHAT], "chat", partial(completions, desk))},
        "/v1/responses": {"POST": page([RESPONSES], "chat", partial(responses, desk))},
        _RESPONSES + "*": {"GET": page([RESPONSES], "read", partial(_response, desk))},
        "/v1/embeddings": {"POST": page([EMBEDDINGS], "chat", partial(_embeddings, embedder, desk.limits))},
        "/v1/models": {"GET": page(either, "read", partial(_models, desk))},
        _MODELS + "*": {"GET": page(either, "read", partial(_model, desk))},
    }


async def _embeddings(embedder: Embedder | None, limits: Limits, scope: Scope, receive: Receive, send: Send) -> None:
    from ostiary.gateway.openai_api.embeddings import embeddings

    try:
        await embeddings(embedder, limits, scope, receive, send)
    except EmbedderUnavailable as error:
        raise ApiError(503, sentence(error), code="embedder_unavailable", retry_after=30) from None


async def _models(desk: Desk, scope: Scope, receive: Receive, send: Send) -> None:
    await respond(send, 200, {"object": "list", "data": [_row(name) for name in desk.names()]})


async def _model(desk: Desk, scope: Scope, receive: Receive, send: Send) -> None:
    name = scope["path"].partition(_MODELS)[2]
    if name not in desk.names():
        raise ApiError(404, f"There is no model {name[:120]!r}.", code="model_not_found", param="model")
    await respond(send, 200, _row(name))


async def _response(desk: Desk, scope: Scope, receive: Receive, send: Send) -> None:
    await retrieve(desk, scope["path"].partition(_RESPONSES)[2], scope, send)


def _row(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": name.partition("/")[0] if "/" in name else NAME}
