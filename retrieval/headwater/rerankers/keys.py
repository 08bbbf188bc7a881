"""The key to a reranker: asked for when it is needed, and shown nowhere."""

from headwater.errors import ValidationError
from headwater.rerankers import ApiKey


class HeldKey:
    """Holds a key so that neither a ``repr`` nor a traceback that prints variables shows it."""

    __slots__ = ("_given",)

    def __init__(self, given: ApiKey) -> None:
        self._given = given
        if not callable(given):
            check_key(given)

    def header(self) -> str:
        """What stands in ``Authorization``."""
        return f"Bearer {check_key(self._given() if callable(self._given) else self._given)}"

    def __repr__(self) -> str:
        return "HeldKey(***)"


def check_key(key: object) -> str:
    """``key`` unchanged, if it can stand in a header."""
    # Of a header's value, which a line break would end.
    if not isinstance(key, str) or not key or not all("!" <= character <= "~" for character in key):
        raise ValidationError("api_key must be printable ASCII without spaces and line breaks, and not empty.")
    return key


__all__ = ["HeldKey", "check_key"]
