"""How long a call may take (upstream `cri-client`)."""

REQUEST_TIMEOUT_S = 120.0
"""Default of KubeletConfiguration `runtimeRequestTimeout`."""


class Deadlines:
    """What both services know of time. `timeout_s` is the setting `runtimeRequestTimeout` in seconds."""

    _timeout_s: float = REQUEST_TIMEOUT_S

    def _deadline(self, asked_s: float | None, *, factor: float = 1, more_s: float = 0) -> float:
        """Seconds for one call: what its caller asked for, or the request timeout times `factor` plus `more_s`."""
        return self._timeout_s * factor + more_s if asked_s is None else asked_s
