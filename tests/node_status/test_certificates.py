import ssl
from pathlib import Path

import pytest
from cryptography import x509

from services.node_status.certificates.serving import ensure_serving_pair
from shared.errors import Fatal


def test_a_pair_is_made_once_and_kept(tmp_path: Path) -> None:
    first = ensure_serving_pair(tmp_path / "pki", "node1", "", "")
    assert ensure_serving_pair(tmp_path / "pki", "node1", "", "") == first
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(first.certificate_path, first.key_path)
    leaf, ca = x509.load_pem_x509_certificates(Path(first.certificate_path).read_bytes())
    leaf.verify_directly_issued_by(ca)
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["node1"]
    assert Path(first.key_path).stat().st_mode & 0o777 == 0o600
    assert Path(first.certificate_path).stat().st_mode & 0o777 == 0o644
    assert sorted(p.name for p in (tmp_path / "pki").iterdir()) == ["kubelet.crt", "kubelet.key"]


@pytest.mark.parametrize("survivors", [(".kubelet.crt.unfinished",), (".kubelet.crt.unfinished", "kubelet.key")])
def test_a_generation_that_was_cut_off_is_done_again(tmp_path: Path, survivors: tuple[str, ...]) -> None:
    for name in survivors:
        (tmp_path / name).write_text("half")
    made = ensure_serving_pair(tmp_path, "node1", "", "")
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(made.certificate_path, made.key_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kubelet.crt", "kubelet.key"]


def test_half_a_pair_of_the_operators_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kubelet.crt").write_text("x")
    with pytest.raises(Fatal, match=r"kubelet\.key, certificate and key must be supplied as a pair"):
        ensure_serving_pair(tmp_path, "node1", "", "")


def test_a_configured_pair_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Fatal, match=r"nowhere\.crt"):
        ensure_serving_pair(tmp_path, "node1", str(tmp_path / "nowhere.crt"), str(tmp_path / "nowhere.key"))
