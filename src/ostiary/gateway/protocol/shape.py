"""What every shape on the wire has in common: camelCase names, and no field that nobody knows."""

from typing import Annotated

import msgspec


class Params(msgspec.Struct, rename="camel", forbid_unknown_fields=True, gc=False):
    """What a caller sends. An unknown field is refused: a misspelt one must not be taken for its default."""


class Payload(msgspec.Struct, rename="camel"):
    """What the gateway sends. Clients ignore fields they do not know."""


Name = Annotated[str, msgspec.Meta(min_length=1, max_length=128)]
Key = Annotated[str, msgspec.Meta(min_length=1, max_length=600, description="A session key such as agent:main:main.")]
IdempotencyKey = Annotated[str, msgspec.Meta(min_length=8, max_length=128, description="The same for every try of one act.")]
Words = Annotated[str, msgspec.Meta(min_length=1, max_length=1_000_000)]


class Nothing(Params):
    """A method without parameters."""


class Effect(Params, kw_only=True):
    """Of a method that changes something."""

    idempotency_key: IdempotencyKey


class Repeatable(Params, kw_only=True):
    """Of a method that changes something, and changes nothing more when it is called again: the key is optional."""

    idempotency_key: IdempotencyKey | None = None


class Done(Payload):
    ok: bool = True
