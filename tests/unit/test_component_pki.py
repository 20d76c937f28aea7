"""Certificates verify as clients verify them, keys are random, and private files are their owner's alone."""

import base64
import datetime
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from edgegate.components import pki
from edgegate.components.pki import Authority, KeyPair


def _load(certificate: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(certificate)


def _shake_hands(folder: Path, authority: Authority, pair: KeyPair, name: str) -> None:
    """Let a client that is as strict as Python 3.13 and later are by themselves meet a server with that certificate."""
    (folder / "pair.pem").write_bytes(pair.certificate + pair.key)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(folder / "pair.pem")
    asking = ssl.create_default_context(cadata=authority.certificate.decode())
    asking.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = asking.wrap_bio(to_client, to_server, server_hostname=name)
    server = serving.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue


@pytest.mark.parametrize("name", ["10.88.7.1", "localhost", "kubernetes.default.svc"])
def test_a_strict_client_accepts_a_server_by_each_of_its_names(tmp_path: Path, name: str) -> None:
    authority = Authority.new("edgegate lab")
    pair = authority.issue(["10.88.7.1", "localhost", "kubernetes.default.svc"])
    _shake_hands(tmp_path, authority, pair, name)


def test_no_client_accepts_another_name_or_another_authority(tmp_path: Path) -> None:
    authority = Authority.new("edgegate lab")
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        _shake_hands(tmp_path, authority, authority.issue(["a.edge.test"]), "b.edge.test")
    with pytest.raises(ssl.SSLCertVerificationError):
        _shake_hands(tmp_path, authority, Authority.new("edgegate lab").issue(["a.edge.test"]), "a.edge.test")


def test_a_name_longer_than_a_common_name_may_be_is_whole_among_the_names(tmp_path: Path) -> None:
    long, authority = "a" * 63 + ".edge.test", Authority.new("x")
    pair = authority.issue([long])
    assert _load(pair.certificate).subject.rfc4514_string() == f"CN={long[:64]}"
    _shake_hands(tmp_path, authority, pair, long)


def test_certificates_hold_from_yesterday_for_a_month() -> None:
    now = datetime.datetime.now(datetime.UTC)
    authority = Authority.new("x")
    for certificate in (_load(authority.certificate), _load(authority.issue(["a"]).certificate)):
        assert certificate.not_valid_before_utc < now - datetime.timedelta(hours=23)
        assert certificate.not_valid_after_utc > now + datetime.timedelta(days=29)


def test_nothing_repeats_itself() -> None:
    one, other = Authority.new("x"), Authority.new("x")
    pairs = [one.pair, other.pair, one.issue(["a"]), one.issue(["a"])]
    assert len({pair.key for pair in pairs}) == len({_load(pair.certificate).serial_number for pair in pairs}) == 4
    assert pki.random_token() != pki.random_token()
    assert len(base64.urlsafe_b64decode(pki.random_token() + "=")) == 32


def test_an_authority_goes_on_from_its_files() -> None:
    authority = Authority.new("x")
    again = Authority(authority.pair)
    assert again.certificate == authority.certificate
    _load(again.issue(["a"]).certificate).verify_directly_issued_by(_load(authority.certificate))


def test_a_kubeconfig_has_the_certificate_in_base64() -> None:
    authority = Authority.new("x")
    assert base64.b64decode(authority.certificate_base64) == authority.certificate


def test_service_account_keys_are_a_pair() -> None:
    private, public = pki.service_account_keys()
    key, checked = load_pem_private_key(private, password=None), load_pem_public_key(public)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.public_key() == checked


def test_a_private_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = pki.write_private(tmp_path / "new" / "kubeconfig", "token")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert path.read_text() == "token"


def test_a_private_file_that_others_could_read_is_closed(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").touch(mode=0o644)
    assert pki.write_private(tmp_path / "kubeconfig", b"token").stat().st_mode & 0o777 == 0o600


def test_readers_of_a_private_file_see_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    """Each worker of a run writes the kubeconfigs again while others read them."""
    path = pki.write_private(tmp_path / "kubeconfig", "old")
    with path.open() as reader:
        pki.write_private(path, "new")
        assert reader.read() == "old"
    assert path.read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["kubeconfig"]


def test_the_fingerprint_is_the_one_of_the_first_certificate() -> None:
    authority = Authority.new("x")
    leaf = authority.issue(["a"]).certificate
    digest = pki.sha256_of(leaf + authority.certificate)
    assert digest == pki.sha256_of(leaf) != pki.sha256_of(authority.certificate)
    assert len(digest) == 64
    assert digest == digest.lower()
