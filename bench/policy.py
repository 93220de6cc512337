"""What one decision costs: two hundred rules over every layer, and a call that passes all of them."""

import time

from bench.rows import Row

RULES = 200
CALLS = 2000
ROUNDS = 5


def policy_row() -> Row:
    """CPU milliseconds for one decision."""
    from ostiary.contracts.content import Label, Trust
    from ostiary.contracts.identity import OWNER, Principal, SessionKey
    from ostiary.contracts.messages import Address, UserId
    from ostiary.contracts.model import ToolSchema
    from ostiary.contracts.policy import Action, Deny
    from ostiary.contracts.tool import Effect, ToolSpec
    from ostiary.core.policy.guard import guard_layer
    from ostiary.core.policy.layers import Lists
    from ostiary.core.policy.places import GroupRules
    from ostiary.core.policy.rules import AgentRules, Rules, Runtime, compile_rules

    each = RULES // 8
    lists = Lists(allow=("*",), deny=tuple(f"nothing_{number}_*" for number in range(each)))
    judge = compile_rules(
        Rules(
            lists=Lists(profile="full", allow=lists.allow, deny=lists.deny),
            by_provider={"kit": lists},
            agents={"main": AgentRules(lists=lists, by_provider={"kit": lists})},
            groups={"telegram": {"-100": GroupRules(tools=lists, senders={"7": lists})}},
            roles={OWNER: lists},
            has_switches=True,
        ),
        Runtime(guard=guard_layer(), is_on=lambda name: True, is_known_url=lambda action, url: True),
    )
    schema = ToolSchema(name="web_fetch", description="", parameters={"type": "object"})
    action = Action(
        principal=Principal(user=UserId(channel="telegram", stable_id="7"), role=OWNER),
        session=SessionKey("main", "telegram:group:-100"),
        channel="telegram",
        tool=ToolSpec(schema=schema, effects=frozenset({Effect.READ, Effect.NETWORK})),
        arguments={"url": "https://example.com/a/page?with=a&query=in-it"},
        label=Label(trust=Trust.UNTRUSTED, sources=("web:example.com",), private=True),
        provider="kit",
        model="m",
        reply_to=Address(channel="telegram", account="default", chat="-100"),
    )
    if isinstance(judge(action), Deny):
        raise RuntimeError("the call that is measured must pass every layer")
    values = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        for _ in range(CALLS):
            judge(action)
        values.append((time.process_time() - begin) * 1000 / CALLS)
    return Row("policy", f"a policy decision, {RULES} rules, CPU", "ms", tuple(values))
