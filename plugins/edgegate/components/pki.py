"""Keys and certificates of one lab: random for each lab, readable by the owner alone."""

import base64
import datetime
import ipaddress
import os
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID

_DAY = datetime.timedelta(days=1)
_VALID_DAYS = 30  # a kept lab is thrown away long before
_SIGNS_CERTIFICATES = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    """The certificate; leaf first where there are several."""
    key: bytes
    """The private key, PKCS #8."""


class Authority:
    """A certificate authority that lives as long as its lab."""

    def __init__(self, pair: KeyPair) -> None:
        self.pair = pair
        self._certificate = x509.load_pem_x509_certificate(pair.certificate)
        key = load_pem_private_key(pair.key, password=None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        self._key = key

    @classmethod
    def new(cls, name: str) -> "Authority":
        """Return a new authority of that name."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(_common_name(name), _common_name(name), key.public_key(), signer=key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_SIGNS_CERTIFICATES, critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(KeyPair(certificate.public_bytes(Encoding.PEM), _private(key)))

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, PEM: what a client must trust."""
        return self.pair.certificate

    @property
    def certificate_base64(self) -> str:
        """The same, as kubeconfigs and `caBundle` fields hold it."""
        return base64.b64encode(self.certificate).decode()

    def issue(self, names: Sequence[str], *, client: bool = False) -> KeyPair:
        """Return a server's or a client's certificate for DNS names and IP addresses; the first is its common name."""
        usage = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(_common_name(names[0]), self._certificate.subject, key.public_key(), signer=self._key.public_key())
            .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return KeyPair(certificate.public_bytes(Encoding.PEM), _private(key))


def service_account_keys() -> tuple[bytes, bytes]:
    """Return a private and a public PEM key that sign and check service account tokens."""
    key = ec.generate_private_key(ec.SECP256R1())
    return _private(key), key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def write_private(path: Path, content: bytes | str) -> Path:
    """Write a file that only its owner can read, and return its path; readers see the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return Path(unfinished).rename(path)


def random_token() -> str:
    """Return 256 random bits as text."""
    return secrets.token_urlsafe(32)


def sha256_of(certificate: bytes) -> str:
    """Return the fingerprint of the first certificate of a PEM text: lower-case hexadecimal SHA-256."""
    return x509.load_pem_x509_certificate(certificate).fingerprint(hashes.SHA256()).hex()


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name[:64])])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    *,
    signer: ec.EllipticCurvePublicKey,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _VALID_DAYS * _DAY)
        # Python refuses certificates without these two from 3.13 on.
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
    )
