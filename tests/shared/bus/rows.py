"""A table and requests of the tests' own, declared as a daemon would."""

from shared.messages.base import Empty, Message, Request, Table


class Row(Message, frozen=True):
    n: int
    text: str = ""


class Secretive(Message, frozen=True):
    """A reply with a secret at two depths."""

    user: str
    password: str
    extra: dict[str, dict[str, str]] = {}


THINGS = Table("things", key="name", value=Row, owner="pleg")
THINGS_TOO = Table("things_too", key="name", value=Row, owner="pleg")
ADD_ONE = Request("add_one", request=Row, reply=Row, owner="pleg", callers=frozenset({"pod_sync"}))
SECRETS = Request(
    "secrets",
    request=Empty,
    reply=Secretive,
    owner="pleg",
    callers=frozenset({"pod_sync"}),
    secret_fields=frozenset({"password"}),
)
