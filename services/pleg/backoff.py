"""Pauses between attempts while the runtime is away. Pure: chance is an argument."""

from collections.abc import Callable

FIRST_S = 0.1


class Backoff:
    """Doubling pauses up to `max_s`, each drawn between half and all of it, so that daemons do not retry in step."""

    def __init__(self, max_s: float, chance: Callable[[], float]) -> None:
        """`chance` returns a number from 0 to 1."""
        self._max_s = max_s
        self._chance = chance
        self._pause_s = FIRST_S

    def next_s(self) -> float:
        """How long to wait now."""
        pause, self._pause_s = self._pause_s, min(self._max_s, self._pause_s * 2)
        return pause * (0.5 + 0.5 * self._chance())

    def reset(self) -> None:
        """It works again."""
        self._pause_s = FIRST_S
