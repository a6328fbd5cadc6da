"""The texts and reasons of image pulls. Pure (upstream `pkg/kubelet/images`, image_manager, and `cri-client` errors)."""

from collections.abc import Sequence
from typing import Final

from services.pod_sync.images import model
from shared.kube.duration import format_go_duration_ns

PULL_LIMIT_TEXT: Final = "pull QPS exceeded"
_MS: Final = 10**6


def pulled_message(image: str, *, pull_s: float, total_s: float, size_bytes: int) -> str:
    """The text of the event `Pulled` after a pull. Durations are cut to whole milliseconds."""
    return (
        f'Successfully pulled image "{image}" in {_go_ms(pull_s)} ({_go_ms(total_s)} including waiting). '
        f"Image size: {size_bytes} bytes."
    )


def present_message(image: str) -> str:
    """The text of the event `Pulled` when nothing had to be pulled."""
    return f'Container image "{image}" already present on machine and can be accessed by the pod'


def waiting_cause(image: str, error: str) -> tuple[str, str]:
    """Reason and message of `state.waiting` for a failed pull, by what the runtime said first."""
    for reason, why in (
        (model.REGISTRY_UNAVAILABLE, "the registry is unavailable"),
        (model.SIGNATURE, "the signature validation failed"),
    ):
        if error.startswith(reason):
            return reason, f"image pull failed for {image} because {why}{error.removeprefix(reason)}"
    return model.PULL, error


def joined_errors(errors: Sequence[str]) -> str:
    """Several failures as one text, as Go's aggregate prints them: `[a, b]`, repeats once, a single one bare."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _go_ms(seconds: float) -> str:
    return format_go_duration_ns(round(seconds * 10**9) // _MS * _MS)
