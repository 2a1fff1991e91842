"""Signs requests to the payment gateway. One file, no dependency, Python 3.8 or newer: copy it into your project.

    headers = signed_headers(key, "POST", "https://api.gateway.example/v1/payouts", body)

`key` is what `gateway key issue --json` prints: app_id, key_id, api_key, signing_secret. Sign the exact bytes that you send:
serialize the body once, sign those bytes, send those bytes (`data=body`, not `json=...`, in requests and httpx).
"""

import base64
import hashlib
import hmac
import json
import re
import secrets
import sys
import time
from urllib.parse import quote, unquote_to_bytes, urlsplit


def signed_headers(key, method, url, body=b""):
    """The four headers of one request. Call it again for each attempt: a nonce is taken once, a timestamp lasts two minutes."""
    parts = urlsplit(url)
    request = {
        "method": method,
        "host": parts.netloc,
        "target": (parts.path or "/") + ("?" + parts.query if parts.query else ""),
        "timestamp": str(int(time.time())),
        "nonce": secrets.token_hex(16),
        "body": body,
    }
    return {
        "X-Gateway-Key": f"{key['app_id']}.{key['key_id']}.{key['api_key']}",
        "X-Gateway-Timestamp": request["timestamp"],
        "X-Gateway-Nonce": request["nonce"],
        "X-Gateway-Signature": signature(key, request),
    }


def signature(key, request):
    """The value of X-Gateway-Signature."""
    text = string_to_sign(key, request).encode()
    return "v1=" + hmac.new(key["signing_secret"].encode(), text, hashlib.sha256).hexdigest()


def string_to_sign(key, request):
    """Ten fields, joined by newlines, with none at the end. Print it when a signature is refused."""
    method = request["method"].upper()
    path, _, query = request["target"].partition("?")
    body = b"" if method in ("GET", "DELETE") else request["body"]
    return "\n".join(
        [
            "v1",
            key["app_id"],
            key["key_id"],
            request["host"].lower(),
            method,
            path,
            canonical_query(query),
            str(request["timestamp"]),
            request["nonce"],
            hashlib.sha256(body).hexdigest(),
        ]
    )


def canonical_query(query):
    """Each name and value decoded and encoded again, sorted by name and then by value. A "+" is a plus and not a space."""
    pairs = []
    for part in query.split("&"):
        if part:
            name, _, value = part.partition("=")
            pairs.append((_reencoded(name), _reencoded(value)))
    return "&".join(f"{name}={value}" for name, value in sorted(pairs))


def _reencoded(text):
    if re.search("%(?![0-9A-Fa-f]{2})", text):
        raise ValueError(f"{text!r} has a bad percent escape")
    return quote(unquote_to_bytes(text).decode("utf-8"), safe="-._~")


if __name__ == "__main__":
    # One request a line as JSON on standard input, one signature a line on standard output.
    for line in sys.stdin:
        if line.strip():
            given = json.loads(line)
            given["body"] = base64.b64decode(given.get("body_base64") or "")
            print(signature(given, given), flush=True)
