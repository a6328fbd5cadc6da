"""May they: which node subresources a path needs (upstream `server` auth filter), and the two modes."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.server.auth.authentication import User

_VERBS = {"POST": "create", "GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SUBRESOURCES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("/pods", ("pods", "proxy")),
    ("/runningpods", ("pods", "proxy")),
    ("/allocatedPods", ("pods", "proxy")),
    ("/healthz", ("healthz", "proxy")),
    ("/configz", ("configz", "proxy")),
    ("/stats", ("stats",)),
    ("/metrics", ("metrics",)),
    ("/logs", ("log",)),
    ("/checkpoint", ("checkpoint",)),
    ("/statusz", ("statusz",)),
    ("/flagz", ("configz",)),
)


def subresources(path: str) -> tuple[str, ...]:
    """The subresources of which one must be allowed, in the order they are asked for."""
    for prefix, names in _SUBRESOURCES:
        if path == prefix or path.startswith(f"{prefix}/"):
            return names
    return ("proxy",)


def verb(method: str) -> str:
    """The verb of a SubjectAccessReview; empty for methods that have none."""
    return _VERBS.get(method, "")


@dataclass(frozen=True)
class Authorization:
    """Mode AlwaysAllow lets every authenticated user do everything; Webhook needs an API server, and without one denies."""

    always_allow: bool

    def allows(self, user: User, asked: str, names: Sequence[str]) -> bool:
        """Whether `user` may do `asked` on one of the subresources `names`."""
        return self.always_allow

    @staticmethod
    def refusal(user: User, asked: str, names: Sequence[str]) -> str:
        """Upstream's text of a 403."""
        return f"Forbidden (user={user.name}, verb={asked}, resource=nodes, subresource(s)=[{' '.join(names)}])"
