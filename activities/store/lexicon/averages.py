"""How long a build's passages are on average: measured at its first ones, then never changed, since every weight rests on it."""

from collections.abc import Sequence
from typing import Final

from activities.store.database import Store
from activities.store.lexicon.passage import Lexicon, passage_terms
from activities.store.scopes import LiveBuild
from activities.store.sql import queries
from headwater.chunking.profile import ChunkingProfile
from headwater.lexical import has_tiers, language_of

# The first passages may be few and unlike the rest: a corpus often begins with a note of three lines. So they count beside this
# many that are as long as passages of that size mostly are, in the words of the first ones.
EXPECTED: Final = 8
FILLED: Final = 0.6


def lexicon_for(store: Store, build: LiveBuild, texts: Sequence[str]) -> Lexicon | None:
    """What the build's passages are written by; measured at ``texts`` if they are its first. None: it has no lexicon."""
    if build.lexicon is None or not texts:
        return None
    language, is_tiered = language_of(build.lexicon), has_tiers(build.lexicon)
    if build.avgdl is not None:
        return Lexicon(language, build.avgdl, is_tiered)
    profile = ChunkingProfile.from_fingerprint(build.chunker)
    measured = average([passage_terms(text, language).length for text in texts], sum(map(len, texts)), profile)
    key = {"build_id": build.build_id, "avgdl": measured}
    sql = queries(store.schema, "lexicon")
    with store.connection() as connection:
        frozen = connection.execute(sql["freeze_average"], key).fetchone()
        if frozen is None:  # another batch came first
            frozen = connection.execute(sql["average"], key).fetchone()
    return None if frozen is None else Lexicon(language, float(frozen[0]), is_tiered)


def average(lengths: Sequence[int], characters: int, profile: ChunkingProfile) -> float:
    """Terms of a passage: from the ``lengths`` of the first ones, which have so many ``characters`` together."""
    terms = sum(lengths)
    expected = FILLED * profile.size * terms / max(characters, 1)
    if profile.max_tokens is not None:
        expected = min(expected, float(profile.max_tokens))  # of scripts without spaces a model reads fewer characters
    return max(1.0, (terms + EXPECTED * expected) / (len(lengths) + EXPECTED))
