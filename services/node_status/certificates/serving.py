"""The self-signed serving pair `<cert-dir>/kubelet.{crt,key}`, made like upstream's when nothing else is given."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from shared.checkpoint import write_atomic
from shared.errors import Fatal
from shared.messages.node_status import CredentialPaths

LIFETIME = datetime.timedelta(days=365)
"""upstream `cert.GenerateSelfSignedCertKey`: never renewed automatically"""


def ensure_serving_pair(cert_dir: Path, host: str, cert_file: str, key_file: str) -> CredentialPaths:
    """Paths of the serving pair: the configured one, the one in `cert_dir`, or one made now.

    Raises Fatal when a configured pair cannot be read, or when only one half of a pair is there.
    """
    if cert_file or key_file:
        return describe(Path(cert_file), Path(key_file))
    crt, key = cert_dir / "kubelet.crt", cert_dir / "kubelet.key"
    interrupted = _unfinished(crt).exists()
    for there, other in ((crt, key), (key, crt)):
        if there.exists() and not other.exists() and not interrupted:
            raise Fatal(f"error reading {other}, certificate and key must be supplied as a pair")
    if interrupted or not crt.exists():
        cert_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
        _generate(crt, key, host)
    return describe(crt, key)


def describe(crt: Path, key: Path) -> CredentialPaths:
    """What others may know of a pair. Raises Fatal when the certificate cannot be read."""
    try:
        certificate = x509.load_pem_x509_certificate(crt.read_bytes())
        key.stat()
    except (OSError, ValueError) as error:
        raise Fatal(f"read serving certificate {crt} and key {key}: {error}") from error
    return CredentialPaths(
        certificate_path=str(crt),
        key_path=str(key),
        serial=f"{certificate.serial_number:x}",
        expires_at=certificate.not_valid_after_utc.timestamp(),
    )


def _generate(crt: Path, key: Path, host: str) -> None:
    now = datetime.datetime.now(datetime.UTC)
    issuer_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    leaf_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    stamp = int(now.timestamp())
    issuer = _name(f"{host}-ca@{stamp}")
    ca = (
        _builder(issuer, issuer, issuer_key, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )
    leaf = (
        _builder(_name(f"{host}@{stamp}"), issuer, leaf_key, now)
        .add_extension(x509.SubjectAlternativeName([_alternative(host)]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = leaf_key.private_bytes(pem, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    # The unfinished name is there from before the first half to after the second: a start that finds it makes both anew.
    write_atomic(_unfinished(crt), leaf.public_bytes(pem) + ca.public_bytes(pem), mode=0o644)
    write_atomic(key, secret, mode=0o600)
    _unfinished(crt).rename(crt)


def _unfinished(crt: Path) -> Path:
    return crt.with_name(f".{crt.name}.unfinished")


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: rsa.RSAPrivateKey, now: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
    )
