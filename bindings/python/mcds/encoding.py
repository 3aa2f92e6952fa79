"""Encode other strings than names, keys and values: text for C, results of functions, operands."""

from __future__ import annotations

from typing import Any

from .arguments import Misfit, NotUnicode
from .errors import Invalid
from .plan import Bytes, encode


def encode_text(text: Bytes, name: str) -> bytes:
    """Encode the argument `name`, a string for C."""
    if not isinstance(text, (str, bytes, bytearray, memoryview)):
        raise TypeError(Misfit(f"{name} must be bytes or str, not {type(text).__name__}"))
    # A path of os.listdir() may have bytes that are no UTF-8.
    try:
        encoded = str.encode(text, errors="surrogateescape") if isinstance(text, str) else encode(text)
    except UnicodeEncodeError as error:
        said = NotUnicode.error(text, error).args[0]
        raise Invalid(NotUnicode.of(f"{name} {said.must_be} {said}", None)) from None
    if b"\0" in encoded:
        raise ValueError(Misfit(f"{name} must not have a NUL"))
    return encoded


def encode_returned(data: Bytes, function: str) -> bytes:
    """What a function of the program has returned."""
    try:
        return encode(data)
    except TypeError as error:
        raise TypeError(Misfit(f"{function} must return {error}")) from None
    except Invalid as error:
        raise Invalid(NotUnicode.of(f"{function} has returned a str with {error}", None)) from None


def encoded(other: Any) -> Any:
    """Encode a value for a comparison with stored bytes. A value that cannot be encoded equals none."""
    try:
        return encode(other)
    except (TypeError, Invalid):
        return other
