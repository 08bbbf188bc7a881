"""The name of the rule that a build's words were made with: its version, and the language that words are stemmed in."""

from typing import Final

from headwater.errors import ValidationError
from headwater.lexical.stems import LANGUAGES

LEXICON: Final = "words-1"  # another number whenever any text gives other terms, a stemmer's release included
DEFAULT_LANGUAGE: Final = "english"


def check_language(language: str) -> str:
    """``language`` in lower case; one that has no stemmer is an error that names those which have one."""
    known = language.strip().lower()
    if known not in LANGUAGES:
        raise ValidationError(f"language {language!r} is unknown: use {', '.join(sorted(LANGUAGES))}.")
    return known


def lexicon_of(language: str) -> str:
    """What a build keeps: ``words-1:english``."""
    return f"{LEXICON}:{check_language(language)}"


def language_of(lexicon: str) -> str:
    """The language of a build's words. One that was made by another rule cannot be searched by this one."""
    rule, _, language = lexicon.partition(":")
    if rule != LEXICON or language not in LANGUAGES:
        raise ValidationError(
            f"The words of this corpus were indexed by the rule {lexicon!r}, and this library has {LEXICON!r}: use the release "
            "that indexed it, or re-index the corpus (headwater reindex)."
        )
    return language
