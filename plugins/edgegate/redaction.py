"""Take secrets out of a text before it is written where others read it: reports, bundles, logs."""

import re

GONE = "[redacted]"

_BLOCKS = re.compile(r"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?(?:-----END \1-----|\Z)", re.DOTALL)
_JWT = re.compile(r"\beyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*")
_CREDENTIALS = re.compile(r"\b(Bearer|Basic|DPoP)\s+[\w.~+/=-]{6,}", re.IGNORECASE)
_COOKIES = re.compile(r"""(\b(?:set-)?cookie["']?\s*[:=]\s*["'(\[]*)([^\r\n"']+)""", re.IGNORECASE)
_USER_INFO = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^\s/@:]+:[^\s/@]+@", re.IGNORECASE)
_NAMES = (
    r"(?:client|hmac|shared)[-_]?secret|client[-_]key[-_]data|private[-_]?key|tls\.key|pass(?:word|wd|phrase)|"
    r"(?:access|refresh|id|bearer|service[-_]?account|session|auth)?[-_]?token|api[-_]?key|code[-_]verifier|"
    r"authorization"
)
# A value is quoted (with backslashes, when the text is JSON within JSON), or ends at white space or at what ends a
# value in JSON, YAML, a query or a command line. A name ends where the colon or equals sign is: `secretName: x` and
# `tokenEndpoint: x` are no secrets. The bound keeps a long line of dashes from costing its length squared.
_NAMED = re.compile(
    rf"""(?P<head>(?<![\w.-])[\w.-]{{0,60}}?(?:{_NAMES})(?:\\*["'])?[ \t]*[:=][ \t]*)"""
    r"""(?:(?P<quote>\\*["'])(?P<quoted>[^\n]*?)(?P=quote)|(?P<bare>[^\s"',;&{}\[\]\\]+))""",
    re.IGNORECASE,
)
_NO_SECRET = ("", GONE, "null", "None", "true", "false", "|", ">", "Bearer", "Basic", "DPoP")


def redact(text: str) -> str:
    """Return the text with private keys, tokens, cookies, passwords and client secrets replaced by `[redacted]`.

    The names and the shape stay, so that a reader sees that something was there. It errs towards taking out more.
    """
    text = _BLOCKS.sub(rf"-----BEGIN \1----- {GONE}", text)
    text = _JWT.sub(GONE, text)
    text = _CREDENTIALS.sub(rf"\1 {GONE}", text)
    text = _COOKIES.sub(_cookies, text)
    text = _USER_INFO.sub(rf"\1{GONE}@", text)
    return _NAMED.sub(_named, text)


def _cookies(found: re.Match[str]) -> str:
    """Keep the names and attributes of cookies; only their values are secret."""
    public = ("path", "domain", "max-age", "expires", "samesite")
    parts = []
    for part in found[2].split(";"):
        name, equals, _ = part.partition("=")
        parts.append(part if not equals or name.strip().lower() in public else f"{name}={GONE}")
    return found[1] + ";".join(parts)


def _named(found: re.Match[str]) -> str:
    quote, value = found["quote"] or "", found["bare"] or found["quoted"] or ""
    # A scheme was kept on purpose, so that `Bearer [redacted]` tells more than `[redacted]`.
    if value in _NO_SECRET or value.endswith(f" {GONE}"):
        return found[0]
    return f"{found['head']}{quote}{GONE}{quote}"
