"""Who a file belongs to: a signed token in which no name stands.

`v1.<assignment>.<student>.<variant>.<signature>`: the student is 8 hex digits of a keyed hash of the id, the signature 8 of
the HMAC-SHA256 (RFC 2104) of what stands before it. Both need the secret of the key: without it nobody can make a token, or
find out by trying ids whose it is.
"""

import hmac
import re
from hashlib import sha256

from blueprint.classes.key import Key, KeyStudent

VERSION, DIGITS = "v1", 8
TOKEN = re.compile(
    rf"{VERSION}\.[A-Za-z0-9_-]{{1,40}}\.[0-9a-f]{{{DIGITS}}}\.[0-9a-f]{{{DIGITS}}}\.[0-9a-f]{{{DIGITS}}}"
)
"""How a token looks, wherever it stands in a text."""


def token_of(student: str, assignment: str, variant: str, secret: str) -> str:
    """Returns the token of a student's file.

    student: the id. variant: 8 hex digits, see `variants`. secret: hex, as a key holds it.
    """
    said = f"{VERSION}.{assignment}.{hashed(secret, 'student', student)}.{variant}"
    return f"{said}.{hashed(secret, 'token', said)}"


def student_of(token: str, key: Key) -> KeyStudent | None:
    """Returns the student to whom a token was given; None for a token of another class, and for one that is no token."""
    given = token.strip().encode()  # compare_digest takes no text beyond ASCII
    return next((each for each in key.students if hmac.compare_digest(each.token.encode(), given)), None)


def hashed(secret: str, purpose: str, text: str, digits: int = DIGITS) -> str:
    """Returns the first hex digits of a keyed hash; purpose: so that one hash says nothing about another."""
    return hmac.new(bytes.fromhex(secret), f"{purpose}\0{text}".encode(), sha256).hexdigest()[:digits]
