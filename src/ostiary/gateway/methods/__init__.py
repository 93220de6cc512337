"""What each method does. Handlers act through `Services`; they hold no state and know no sockets but the caller's own."""

from functools import cache

from ostiary.gateway.protocol.registry import Method, Methods


@cache
def all_methods() -> Methods:
    """Every method by name. Imported at the first call: a gateway without sockets pays nothing."""
    from ostiary.gateway.methods import (
        approvals,
        audit,
        changes,
        chat,
        config,
        control,
        devices,
        history,
        memory,
        models,
        policy,
        replay,
        runs,
        sessions,
        system,
        usage,
        vault,
    )
    from ostiary.gateway.protocol.registry import registry

    groups: tuple[tuple[Method, ...], ...] = (
        system.METHODS,
        models.METHODS,
        sessions.METHODS,
        history.METHODS,
        chat.METHODS,
        runs.METHODS,
        usage.METHODS,
        config.METHODS,
        devices.METHODS,
        control.METHODS,
        policy.METHODS,
        approvals.METHODS,
        changes.METHODS,
        vault.METHODS,
        memory.METHODS,
        replay.METHODS,
        audit.METHODS,
    )
    return registry(*(method for group in groups for method in group))
