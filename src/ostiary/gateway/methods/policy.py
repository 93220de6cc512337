"""What the rules say, and why. Nothing here changes anything."""

from ostiary.gateway.methods.services import Call, PolicyDesk, Services
from ostiary.gateway.protocol.policy import ExplainPolicy, Explanation, ListTools, Tools
from ostiary.gateway.protocol.registry import Method


async def explain(call: Call[ExplainPolicy]) -> Explanation:
    """What would be decided of a call, by which layer, and what every other layer says."""
    return await _desk(call.services).explain(call.params)


async def list_tools(call: Call[ListTools]) -> Tools:
    """Every tool, what it does, and whether it is shown, asked about or hidden."""
    return await _desk(call.services).tools(call.params)


def _desk(services: Services) -> PolicyDesk:
    assert services.policy is not None
    return services.policy


METHODS = (
    Method("policy.explain", ExplainPolicy, Explanation, "admin", explain, needs="policy"),
    Method("tools.list", ListTools, Tools, "read", list_tools, needs="policy"),
)
