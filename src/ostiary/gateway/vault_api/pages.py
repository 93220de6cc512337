"""The table of the vault's pages, each behind its scope, with the store's refusals as statuses that a program understands."""

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib import import_module

from ostiary.contracts.errors import Conflict, ToolError
from ostiary.gateway.asgi import App, Receive, Scope, Send, header
from ostiary.gateway.auth import caller_of, require
from ostiary.gateway.errors import ApiError, sentence
from ostiary.gateway.vault_api.desk import VaultDesk

PREFIX = "/v1/vault/"

Page = Callable[[VaultDesk, Scope, Receive, Send], Awaitable[None]]
_READ, _WRITE = "read", "admin"

# Path below PREFIX, method, scope, and the module with the function that answers.
_TABLE: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "status": {"GET": (_READ, "asking", "status")},
    "collections": {"GET": (_READ, "documents", "collections")},
    "list/*": {"GET": (_READ, "documents", "listing")},
    "raw/*": {
        "GET": (_READ, "documents", "get"),
        "HEAD": (_READ, "documents", "get"),
        "PUT": (_WRITE, "documents", "put"),
        "POST": (_WRITE, "documents", "append"),
        "DELETE": (_WRITE, "documents", "delete"),
    },
    "history/*": {"GET": (_READ, "documents", "history")},
    "diff/*": {"GET": (_READ, "documents", "diff")},
    "restore": {"POST": (_WRITE, "restoring", "restore")},
    "move": {"POST": (_WRITE, "documents", "move")},
    "batch": {"POST": (_WRITE, "batch", "batch")},
    "query": {"POST": (_READ, "asking", "query")},
    "reindex": {"POST": (_WRITE, "asking", "reindex")},
    "embed": {"POST": (_READ, "asking", "embed")},
    "exec": {"POST": (_WRITE, "asking", "execute")},
    "memory/list": {"GET": (_READ, "memory", "listing")},
    "memory/search": {"POST": (_READ, "memory", "search")},
    "memory/why": {"POST": (_READ, "memory", "why")},
    "memory/write": {"POST": (_WRITE, "memory", "write")},
    "memory/confirm": {"POST": (_WRITE, "memory", "confirm")},
    "memory/forget": {"POST": (_WRITE, "memory", "forget")},
}


def vault_pages(desk: VaultDesk) -> Mapping[str, Mapping[str, App]]:
    """For `Door`. A path that ends in `*` stands for everything below it. What a page needs is loaded at its first request."""

    def page(needs: str, module: str, name: str) -> App:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            require(caller_of(scope), needs)
            try:
                await _loaded(module, name)(desk, scope, receive, send)
            except Conflict as error:
                is_asked = bool(header(scope, b"if-match") or header(scope, b"if-none-match"))
                raise ApiError(412 if is_asked else 409, sentence(error), code="conflict") from None
            except ToolError as error:
                raise ApiError(422, sentence(error), code="refused") from None

        return app

    return {f"{PREFIX}{path}": {method: page(*answer) for method, answer in methods.items()} for path, methods in _TABLE.items()}


@cache
def _loaded(module: str, name: str) -> Page:
    page: Page = getattr(import_module(f"{__package__}.{module}"), name)
    return page
