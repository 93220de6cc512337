import pytest
from bench import policy
from bench.policy import policy_row


def test_a_decision_is_measured_over_every_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "CALLS", 3)
    monkeypatch.setattr(policy, "ROUNDS", 2)
    row = policy_row()
    assert (row.name, row.unit, len(row.values)) == ("policy", "ms", 2)
    assert "200 rules" in row.what
