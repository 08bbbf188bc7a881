"""The words of a text, in any script and with no model: what texts are compared by."""

from headwater.lexical import analyse


def distinct_terms(text: str) -> frozenset[str]:
    """The distinct terms of ``text``, as the lexical leg has them but unstemmed: no language is known here."""
    return frozenset(token.term for token in analyse(text, "none"))
