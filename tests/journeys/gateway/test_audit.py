"""What a house writes into its audit log when it works, read by the command line."""

import json

from ostiary.kit.model_servers import KEY
from tests.journeys.gateway.house import Home
from tests.journeys.gateway.model import Model


def test_the_key_that_turns_used_is_in_the_audit_log_once_and_by_name_alone(home: Home, model: Model) -> None:
    model.begin("one", "two")
    with home.up() as gateway:
        gateway.say("first", "ann")
        gateway.say("second", "ann")
    written = home.run("audit", "export").stdout
    rows = [json.loads(line) for line in written.splitlines()]
    used = [(row["actor"], row["subject"], row["outcome"]) for row in rows if row["kind"] == "credential.used"]
    assert used == [("model:kit", "kit:config", "lent")]
    assert KEY not in written
    assert home.run("audit", "verify").returncode == 0
