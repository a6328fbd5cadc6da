"""Who asks: a client certificate, else anonymous when that is allowed (upstream `authentication`).

Bearer tokens need an API server to review them: without one, a token is never accepted, and a request that carries one is
refused even when anonymous requests are allowed, as upstream refuses a bad token.
"""

from dataclasses import dataclass

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from services.server.http.messages import Request


@dataclass(frozen=True)
class User:
    """An authenticated user."""

    name: str
    groups: tuple[str, ...]


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


@dataclass(frozen=True)
class Authentication:
    """The settings that decide. `client_ca` is true when certificates were verified against a CA during the handshake."""

    anonymous: bool
    client_ca: bool
    webhook: bool = False

    def authenticate(self, request: Request) -> User | None:
        """The user, or None: 401 `Unauthorized`."""
        if self.client_ca and request.client_certificate is not None:
            user, valid = certificate_user(request.client_certificate)
            if user is not None or not valid:
                return user
        if self.webhook and (request.header("authorization") or "").lower().startswith("bearer "):
            return None
        return ANONYMOUS if self.anonymous else None


def certificate_user(der: bytes) -> tuple[User | None, bool]:
    """The user that a verified certificate names, and whether the certificate may be used by a client at all.

    The user is the CN, the groups are all O values; an empty CN names nobody, which leaves other ways open.
    """
    certificate = x509.load_der_x509_certificate(der)
    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        usages = None
    if usages is not None and not {ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE} & set(
        usages
    ):
        return None, False
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    if not names or not names[0].value:
        return None, True
    groups = tuple(str(a.value) for a in certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))
    return User(str(names[0].value), (*groups, "system:authenticated")), True
