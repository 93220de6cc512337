"""What is said beside a decision."""

import pytest

from ostiary.assembly.policy_notes import change_of
from ostiary.contracts.policy import Allow, Ask, Deny
from ostiary.core.policy.rules import LAYERS
from tests.unit.core.policy.acting import act


@pytest.mark.parametrize("layer", LAYERS)
def test_every_layer_says_what_would_change_its_decision(layer: str) -> None:
    action = act("exec", agent="ann", provider="kit")
    said = change_of(Deny(layer=layer, reason="no"), action)
    assert said
    assert "{" not in said
    assert said == change_of(Ask(layer=layer, reason="well"), action)
    assert "plugin" not in said


def test_what_is_allowed_needs_no_change() -> None:
    assert change_of(Allow(layer="profile"), act("read")) == ""


def test_a_plugins_policy_is_the_plugins_matter() -> None:
    said = change_of(Deny(layer="curfew", reason="it is late"), act("exec"))
    assert said == "the policy curfew of a plugin decides; that plugin's own settings"
