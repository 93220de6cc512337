"""The table of the vault's pages, each behind its scope, with the store's refusals as statuses that a program understands."""

from collections.abc import Awaitable, Callable, Mapping

from ostiary.contracts.errors import (
    Conflict,
    EmbedderUnavailable,
    QuotaExceeded,
    SandboxUnavailable,
    StoreRefused,
    ToolError,
)
from ostiary.gateway.asgi import App, Receive, Scope, Send, header
from ostiary.gateway.auth import caller_of, require
from ostiary.gateway.errors import ApiError, sentence
from ostiary.gateway.vault_api import asking, batch, documents, memory, restoring
from ostiary.gateway.vault_api.desk import VaultDesk

PREFIX = "/v1/vault/"

Page = Callable[[VaultDesk, Scope, Receive, Send], Awaitable[None]]
_READ, _WRITE = "read", "admin"


def vault_pages(desk: VaultDesk) -> Mapping[str, Mapping[str, App]]:
    """For `Door`. A path that ends in `*` stands for everything below it."""

    def page(needs: str, serve: Page) -> App:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            require(caller_of(scope), needs)
            try:
                await serve(desk, scope, receive, send)
            except Conflict as error:
                is_asked = bool(header(scope, b"if-match") or header(scope, b"if-none-match"))
                raise ApiError(412 if is_asked else 409, sentence(error), code="conflict") from None
            except QuotaExceeded as error:
                raise ApiError(507, sentence(error), code="quota_exceeded") from None
            except (EmbedderUnavailable, SandboxUnavailable) as error:
                raise ApiError(503, sentence(error), code="unavailable", retry_after=30) from None
            except ToolError as error:
                raise ApiError(422, sentence(error), code="refused") from None
            except StoreRefused as error:
                raise ApiError(503, sentence(error), code="store_refused") from None

        return app

    raw = {
        "GET": page(_READ, documents.get),
        "HEAD": page(_READ, documents.get),
        "PUT": page(_WRITE, documents.put),
        "POST": page(_WRITE, documents.append),
        "DELETE": page(_WRITE, documents.delete),
    }
    return {
        f"{PREFIX}status": {"GET": page(_READ, asking.status)},
        f"{PREFIX}collections": {"GET": page(_READ, documents.collections)},
        f"{documents.LIST}*": {"GET": page(_READ, documents.listing)},
        f"{documents.RAW}*": raw,
        f"{documents.HISTORY}*": {"GET": page(_READ, documents.history)},
        f"{documents.DIFF}*": {"GET": page(_READ, documents.diff)},
        f"{PREFIX}restore": {"POST": page(_WRITE, restoring.restore)},
        f"{PREFIX}move": {"POST": page(_WRITE, documents.move)},
        f"{PREFIX}batch": {"POST": page(_WRITE, batch.batch)},
        f"{PREFIX}query": {"POST": page(_READ, asking.query)},
        f"{PREFIX}embed": {"POST": page(_READ, asking.embed)},
        f"{PREFIX}exec": {"POST": page(_WRITE, asking.execute)},
        f"{PREFIX}memory/list": {"GET": page(_READ, memory.listing)},
        f"{PREFIX}memory/search": {"POST": page(_READ, memory.search)},
        f"{PREFIX}memory/why": {"POST": page(_READ, memory.why)},
        f"{PREFIX}memory/write": {"POST": page(_WRITE, memory.write)},
        f"{PREFIX}memory/confirm": {"POST": page(_WRITE, memory.confirm)},
        f"{PREFIX}memory/forget": {"POST": page(_WRITE, memory.forget)},
    }
