"""Which handler answers a path: upstream's two layers, a prefix mux before authentication and a route table after it."""

import posixpath
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from services.server.auth.authentication import Authentication
from services.server.auth.authorization import Authorization, subresources, verb
from services.server.http.messages import Request, Response, helper_error, text

RouteHandler = Callable[[Request, tuple[str, ...]], Awaitable[Response]]
_ANY = frozenset[str]()
_TRAILING = frozenset({"/stats/", "/logs/", "/runningpods/", "/checkpoint/", "/debug/pprof/"})


@dataclass(frozen=True)
class Route:
    """One path below a registered prefix. `segments` are literals, or None for a variable part; no `methods`: any."""

    segments: tuple[str | None, ...]
    handler: RouteHandler
    methods: frozenset[str] = _ANY
    debugging: bool = False
    """answers 405 while `enableDebuggingHandlers` is off"""
    hidden: bool = False
    """does not exist while `enableDebuggingHandlers` is off"""

    def match(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """The variable parts, or None when the path is another's."""
        if len(parts) != len(self.segments):
            return None
        found = []
        for part, segment in zip(parts, self.segments, strict=True):
            if segment is None:
                found.append(part)
            elif segment != part:
                return None
        return tuple(found)


@dataclass(frozen=True)
class Router:
    """Answers requests. Without `authentication` (the read-only port) nobody is asked who they are."""

    routes: tuple[Route, ...]
    debugging: bool
    authentication: Authentication | None
    authorization: Authorization | None

    async def handle(self, request: Request) -> Response:
        """Order as upstream: unknown prefix, redirects, who, may they, route, method."""
        path = request.path
        redirect = self._redirect(path)
        if redirect is not None:
            query = request.target.partition("?")[2]
            return Response(307, headers=(("location", f"{redirect}?{query}" if query else redirect),))
        parts = tuple(p for p in path.split("/") if p)
        known = [r for r in self.routes if self.debugging or not r.hidden]
        if not parts or parts[0] not in {r.segments[0] for r in known}:
            return helper_error(404, "404 page not found")
        refused = self._refuse(request, path)
        if refused is not None:
            return refused
        return await self._dispatch(request, parts, known)

    def _redirect(self, path: str) -> str | None:
        clean = posixpath.normpath(path).replace("//", "/")  # normpath keeps two leading slashes
        if path.endswith("/") and clean != "/":
            clean += "/"
        if clean != path:
            return clean
        heads = {f"/{r.segments[0]}/" for r in self.routes}
        return f"{path}/" if f"{path}/" in _TRAILING & heads else None

    def _refuse(self, request: Request, path: str) -> Response | None:
        if self.authentication is None or self.authorization is None:
            return None
        user = self.authentication.authenticate(request)
        if user is None:
            return text(401, "Unauthorized")
        asked, names = verb(request.method), subresources(path)
        if not self.authorization.allows(user, asked, names):
            return helper_error(403, self.authorization.refusal(user, asked, names))
        return None

    async def _dispatch(self, request: Request, parts: tuple[str, ...], known: list[Route]) -> Response:
        matched = [(r, found) for r in known if (found := r.match(parts)) is not None]
        if not matched:
            if not self.debugging and any(r.debugging and r.segments[0] == parts[0] for r in known):
                return helper_error(405, "Debug endpoints are disabled.")
            return text(404, "404: Page Not Found")
        for route, found in matched:
            if route.methods and request.method not in route.methods:
                continue
            if route.debugging and not self.debugging:
                return helper_error(405, "Debug endpoints are disabled.")
            return await route.handler(request, found)
        allowed = ", ".join(sorted({m for r, _ in matched for m in r.methods}))
        return text(405, "405: Method Not Allowed", ("allow", allowed))
