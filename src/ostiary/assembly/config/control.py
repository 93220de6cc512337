"""When the house listens and when it sleeps."""

from ostiary.assembly.config.section import key, section


@section
class Control:
    """The owner's control over when the house listens."""

    start_awake: bool = key(True, "Awake after a start in good order. After a crash it is as it was, after a kill shut down.")
    sleep_after_minutes: int = key(0, "Fall asleep when nobody said anything for so long; 0 never.", minimum=0, maximum=10_080)
    strict: bool = key(False, "Only /wake wakes it: speaking at the page, the terminal or the API does not.")
    fresh_on_wake: bool = key(False, "On a channel, /wake begins a new conversation.")
