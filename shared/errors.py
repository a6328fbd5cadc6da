"""Errors by what the caller does next.

    OctoletError
    ├── Transient      try again later (a peer, the runtime or the API server is away, a deadline passed)
    │   └── StaleGeneration   the answerer was restarted while it was asked
    ├── Conflict       read again, then try again
    ├── NotFound       it is not there; when stopping or removing that is success
    ├── Invalid        the input is wrong: report it on the object, never retry unchanged
    │   └── Unsupported    the peer does not know this call
    └── Fatal          this process cannot go on: log once and exit

Texts are lower case without a full stop, and name the act and the object: `stop container 3f2a (pod default/web): ...`.
Adapters translate gRPC, HTTP and OS errors at the edge with `raise ... from`.
"""


class OctoletError(Exception):
    """Root of the tree above."""


class Transient(OctoletError):
    """Try again later."""


class StaleGeneration(Transient):
    """The answerer was restarted while it was asked; the request may or may not have been carried out."""


class Conflict(OctoletError):
    """Read again, then try again."""


class NotFound(OctoletError):
    """It is not there."""


class Invalid(OctoletError):
    """The input is wrong."""


class Unsupported(Invalid):
    """The peer does not know this call."""


class Fatal(OctoletError):
    """This process cannot go on. `exit_code` is what it ends with."""

    exit_code: int = 1
