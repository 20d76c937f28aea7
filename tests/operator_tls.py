"""Certificates and Secrets for tests of the reference operator."""

import base64
from datetime import UTC, datetime, timedelta
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from edgegate_operator import conditions, kinds
from edgegate_operator.kinds import Obj
from operator_objects import BELOW, cond, obj


@cache
def _key(number: int) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _pem(hostname: str, begins: datetime, ends: datetime, foreign_key: bool) -> tuple[bytes, bytes]:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, hostname)])
    builder = x509.CertificateBuilder(name, name, _key(0).public_key(), 1, begins, ends)
    built = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(hostname)]), False)
    private = _key(1 if foreign_key else 0).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return built.sign(_key(0), hashes.SHA256()).public_bytes(serialization.Encoding.PEM), private


def certificate_for(
    name: str,
    hostname: str,
    now: float,
    *,
    days: float = 90,
    begins_in: float = -3600,
    not_ready: bool = False,
    foreign_key: bool = False,
    garbage: bool = False,
    failed_ago: float | None = None,
) -> tuple[Obj, Obj]:
    """Return a Certificate and its Secret, broken in the way asked for; times in seconds unless named days."""
    at = datetime.fromtimestamp(now, UTC)
    begins, ends = at + timedelta(seconds=begins_in), at + timedelta(days=days)
    chain, key = _pem(hostname, min(begins, ends - timedelta(hours=1)), ends, foreign_key)
    if garbage:
        chain = b"no certificate"
    data = {"tls.crt": base64.b64encode(chain).decode(), "tls.key": base64.b64encode(key).decode()}
    made = obj(kinds.CERTIFICATE, name, BELOW, spec={"dnsNames": [hostname]})
    good = not not_ready and failed_ago is None
    made["status"] = {"conditions": [cond("Ready", str(good))]}
    if failed_ago is not None:
        made["status"]["lastFailureTime"] = conditions.timestamp(now - failed_ago)
    return made, obj(kinds.SECRET, name, BELOW, data=data)
