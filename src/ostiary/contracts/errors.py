"""The error tree. A class tells the caller what to do; its text tells a person.

OstiaryError
├── BadInput                 the caller's fault: say so, change nothing
│   ├── ConfigInvalid        refuse the file, keep the last good one
│   ├── UnknownSession
│   └── NotAllowed           the sender may not do this
├── Busy                     try again later (a bounded queue is full)
├── StoreError
│   ├── StoreUnavailable     disk full, read-only, locked, gone: nothing was written, try again later
│   ├── StoreRefused         corrupt, wrong key, newer version: a person must act
│   │   └── StoreHeld        another process has it: wait for that one, or stop it
│   ├── Conflict             `expect` did not hold: read again, decide again
│   ├── QuotaExceeded        the write would make the store larger than it may be: nothing was written
│   ├── StaleLease           somebody else holds the lease now: stop at once
│   └── AlreadyAccepted      the message was accepted before: watch that one
├── ModelError               see contracts.model for what each kind permits
│   ├── ModelUnavailable     unreachable, 5xx, cut stream, time-out: retry or fall back
│   ├── ModelRateLimited     429: wait `retry_after`, cool the profile down, fall back
│   ├── ModelUnauthorized    401/403: next profile; tell the owner
│   ├── ModelBilling         402 or out of credit: disable the profile for hours
│   ├── ModelRejected        400: the request itself is wrong; no retry
│   │   ├── ContextOverflow  too long: trim, then retry
│   │   ├── RoleOrdering     history the provider does not accept: repair, then retry
│   │   ├── ImageTooLarge
│   │   └── ThinkingUnsupported   retry with a level of `supported`
│   └── ModelMisconfigured   unknown provider or model, missing key: ask the owner
├── EmbedderUnavailable      no vectors now: search by words alone, and say so
├── ToolError                becomes an error result the model reads
├── SandboxUnavailable       nothing was run, and nothing will be without a fence: `hint` says what to install or allow
├── ChannelError
│   ├── ChannelUnavailable   try again, honouring `retry_after`
│   └── ChannelMisconfigured stop this channel, tell the owner
└── EgressRefused            an outbound request broke a rule; never retry
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ostiary.contracts.content import Label


class OstiaryError(Exception):
    """Every error of ours. `str(error)` is one sentence for a person; `hint` says what to do."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class BadInput(OstiaryError):
    pass


class ConfigInvalid(BadInput):
    """`problems` holds one sentence per bad key, each beginning with the key's path."""

    def __init__(self, message: str, *, problems: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


class UnknownSession(BadInput):
    pass


class NotAllowed(BadInput):
    pass


class Busy(OstiaryError):
    pass


class StoreError(OstiaryError):
    pass


class StoreUnavailable(StoreError):
    pass


class StoreRefused(StoreError):
    pass


class StoreHeld(StoreRefused):
    pass


class Conflict(StoreError):
    pass


class QuotaExceeded(StoreError):
    pass


class StaleLease(StoreError):
    pass


class AlreadyAccepted(StoreError):
    """`item` is the id of the inbox row that was accepted first."""

    def __init__(self, message: str, *, item: int) -> None:
        super().__init__(message)
        self.item = item


class ModelError(OstiaryError):
    """`kind` is the stable word that programs read (rate_limit, auth, billing, timeout, ...)."""

    kind = "model"


class ModelUnavailable(ModelError):
    kind = "unavailable"


class ModelRateLimited(ModelError):
    kind = "rate_limit"

    def __init__(self, message: str, *, retry_after: float | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class ModelUnauthorized(ModelError):
    kind = "auth"


class ModelBilling(ModelError):
    kind = "billing"


class ModelRejected(ModelError):
    kind = "rejected"


class ContextOverflow(ModelRejected):
    kind = "context_overflow"


class RoleOrdering(ModelRejected):
    kind = "role_ordering"


class ImageTooLarge(ModelRejected):
    kind = "image_size"


class ThinkingUnsupported(ModelRejected):
    kind = "thinking"

    def __init__(self, message: str, *, supported: tuple[str, ...] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.supported = supported


class ModelMisconfigured(ModelError):
    kind = "misconfigured"


class EmbedderUnavailable(OstiaryError):
    pass


class ToolError(OstiaryError):
    """`label` is that of what its text quotes; None: it quotes nothing."""

    def __init__(self, message: str, *, hint: str = "", label: "Label | None" = None) -> None:
        super().__init__(message, hint=hint)
        self.label = label


class SandboxUnavailable(OstiaryError):
    pass


class ChannelError(OstiaryError):
    pass


class ChannelUnavailable(ChannelError):
    def __init__(self, message: str, *, retry_after: float | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class ChannelMisconfigured(ChannelError):
    pass


class EgressRefused(OstiaryError):
    pass
