"""Secrets are taken out of every text, and what explains a failure stays."""

import pytest

from edgegate.redaction import redact


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("client-secret: s3cr3t", "client-secret: [redacted]"),
        ('{"client_secret":"a b","x":1}', '{"client_secret":"[redacted]","x":1}'),
        (r'"{\"client-secret\": \"abc\", \"x\": 1}"', r'"{\"client-secret\": \"[redacted]\", \"x\": 1}"'),
        ("{'hmac-secret': 'abc'}", "{'hmac-secret': '[redacted]'}"),
        ("Authorization: Bearer abcdef.ghij", "Authorization: Bearer [redacted]"),
        ('"authorization": "Basic dXNlcjpwYXNz", "b": 2', '"authorization": "Basic [redacted]", "b": 2'),
        ("Cookie: OauthHMAC-1=abc; BearerToken-2=def", "Cookie: OauthHMAC-1=[redacted]; BearerToken-2=[redacted]"),
        ("set-cookie: a=b; Path=/; Max-Age=3; HttpOnly", "set-cookie: a=[redacted]; Path=/; Max-Age=3; HttpOnly"),
        ("-----BEGIN A PRIVATE KEY-----\nb\n-----END A PRIVATE KEY-----c", "-----BEGIN A PRIVATE KEY----- [redacted]c"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE and then the log ends", "-----BEGIN PRIVATE KEY----- [redacted]"),
        ("got eyJhbGciOiJI.eyJzdWIiOiIx.c2ln from it", "got [redacted] from it"),
        ("    token: sha256~abc", "    token: [redacted]"),
        ("client-key-data: LS0tLS1CRUdJ", "client-key-data: [redacted]"),
        ("tls.key: LS0tLS1C", "tls.key: [redacted]"),
        ("https://user:pa55@idp.example/x", "https://[redacted]@idp.example/x"),
        ("/callback?code=1&access_token=zzz&state=2", "/callback?code=1&access_token=[redacted]&state=2"),
        ("pdns --api-key=abc --daemon=no", "pdns --api-key=[redacted] --daemon=no"),
        ("PGPASSWORD=hunter2 psql", "PGPASSWORD=[redacted] psql"),
    ],
)  # fmt: skip
def test_secret_goes(text: str, kept: str) -> None:
    assert redact(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        'secret "b/oidc-client" does not exist',
        "SecurityPolicy b/oidc: failed to get secret: not found",
        "clientSecret:\n  name: oidc-client",
        '"clientSecret":{"group":"","kind":"Secret","name":"oidc-client"}',
        "tokenEndpoint: https://idp.example/token",
        "secretName: tls-a",
        "GET /token 200",
        "password: ''",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    ],
)
def test_the_rest_stays(text: str) -> None:
    assert redact(text) == text


def test_twice_is_the_same_as_once() -> None:
    text = "token: abc\nCookie: a=b\nAuthorization: Bearer abcdefgh\nhttps://u:p@h/"

    assert redact(redact(text)) == redact(text)
