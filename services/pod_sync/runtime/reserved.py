"""How runtimes say that a sandbox or container of that name and attempt exists already. Pure."""

from shared.errors import Conflict, OctoletError, Transient


class StillBeingMade(Transient):
    """A former life of this process asked for it and the runtime is not done yet: ask again later, tell nobody."""


def is_name_reserved(error: OctoletError) -> bool:
    """containerd: `name "..." is reserved for "<id>"`; CRI-O: `... name ... is already in use by <id>`, `... reserved`."""
    text = str(error)
    return isinstance(error, Conflict) or "is reserved" in text or "already in use by" in text
