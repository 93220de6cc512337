from tests.unit.gateway.auth.support import world

__all__ = ["world"]
