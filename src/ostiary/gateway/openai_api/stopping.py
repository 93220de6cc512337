"""`stop`: an answer that ends before whichever of some texts is complete first. The pieces it arrives in make no difference."""

from collections.abc import Sequence


class StopAt:
    """Gives of a text, piece by piece, what comes before the first stop. Holds back what could still become one."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._longest = max(map(len, stops), default=0)
        self._held = ""
        self.is_over = False

    def feed(self, text: str) -> str:
        if self.is_over or not self._stops:
            return "" if self.is_over else text
        whole = self._held + text
        found = [(place + len(stop), place) for stop in self._stops if (place := whole.find(stop)) >= 0]
        if found:
            self.is_over, self._held = True, ""
            return whole[: min(found)[1]]
        kept = next((size for size in range(min(self._longest - 1, len(whole)), 0, -1) if self._may_begin(whole[-size:])), 0)
        self._held = whole[len(whole) - kept :]
        return whole[: len(whole) - kept]

    def rest(self) -> str:
        """What was held back, once nothing more comes."""
        held, self._held = self._held, ""
        return held

    def restart(self) -> None:
        self._held, self.is_over = "", False

    def _may_begin(self, tail: str) -> bool:
        return any(stop.startswith(tail) for stop in self._stops)


def before_stop(text: str, stops: Sequence[str]) -> str:
    at = StopAt(stops)
    return at.feed(text) + at.rest()
