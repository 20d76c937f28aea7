"""TLS for probes: contexts that look at any certificate, and the facts of the one that was served."""

import ssl
from functools import lru_cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256

from edgegate.records import Certificate


def any_certificate() -> ssl.SSLContext:
    """Return a context that accepts every certificate: a probe must see the wrong one too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context


def trusting(ca: Path | str) -> ssl.SSLContext:
    """Return a context that trusts the authorities in one PEM file and nobody else.

    Raises:
        OSError: the file cannot be read or holds no certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cafile=str(ca))
    context.set_alpn_protocols(["http/1.1"])
    return context


@lru_cache(maxsize=256)
def read_certificate(der: bytes) -> Certificate:
    """Return the facts of one certificate. Raises ValueError when the bytes are none."""
    found = x509.load_der_x509_certificate(der)
    return Certificate(
        sha256=found.fingerprint(SHA256()).hex(),
        subject=found.subject.rfc4514_string(),
        issuer=found.issuer.rfc4514_string(),
        names=_names(found),
        not_before=found.not_valid_before_utc,
        not_after=found.not_valid_after_utc,
    )


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return (*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress)))
