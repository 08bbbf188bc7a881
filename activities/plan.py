"""The decision whether a listed document must be read, given how it was last read.

A document is left alone only if its version, the parser and the space are the ones it was read with, and if readers
see it at the live pointer: hash and version alone would keep a document invisible for ever after the pointer moved, or
in the wrong space after the embedder changed. One that must not be served is left alone too: reading it would be in vain.
"""

from enum import StrEnum
from typing import Final

from activities.store.pages.listing import Known
from headwater.connectors import Change
from headwater.states import FAILED, HEALTHY


class Plan(StrEnum):
    READ = "read"  # fetch it, and publish it if it turns out changed
    LABEL = "label"  # its bytes are the same: publish its stored text with what is shown of it now
    GRANTS = "grants"  # leave the text, apply the new access rule
    NOTHING = "nothing"


BROUGHT: Final = (Plan.READ, Plan.LABEL)  # they are prepared; what comes of it is told when they are published


def is_failed(held: Known) -> bool:
    return held.state in FAILED


def plan(change: Change, held: Known | None, *, full: bool, rule_version: int, parsers: frozenset[str]) -> Plan:
    """What must happen for the corpus to match ``change``. ``held`` is ``None`` for a source not held yet."""
    if held is not None and held.is_hidden_at(change.version):
        return Plan.NOTHING
    if held is not None and held.is_refused_at(change.version) and rule_version <= held.rule_version and not full:
        return Plan.NOTHING
    grants = says_who_anew(change, held, rule_version=rule_version)
    if change.grants is not None and change.grants.withheld is not None:
        return Plan.GRANTS if grants else Plan.NOTHING  # nobody is to be shown it: its bytes are not even asked for
    if full or held is None or not _was_read(change, held, parsers):
        return Plan.READ
    # Of two connectors that come to a file on different ways, each would take the other's path away again and again.
    if change.label is not None and change.label != held.label and not held.is_named_elsewhere:
        return Plan.LABEL
    return Plan.GRANTS if grants or not held.is_member else Plan.NOTHING


def says_who_anew(change: Change, held: Known | None, *, rule_version: int) -> bool:
    """Whether the grants of ``change`` are others than were applied last, as far as a rule or a fingerprint tells."""
    if rule_version > (held.rule_version if held else 0) or (held is not None and held.access == ""):
        return True
    if change.access is not None:
        return held is None or change.access != held.access
    return held is None and change.grants is not None and change.grants.withheld is not None


def _was_read(change: Change, held: Known, parsers: frozenset[str]) -> bool:
    if change.version is None or change.version != held.source_version or held.parser not in parsers:
        return False
    return is_failed(held) or (held.state in HEALTHY and held.content_hash is not None)
