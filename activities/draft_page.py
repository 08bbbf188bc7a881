"""What a listed change becomes in a page: something to bring, to grant or to delete, or nothing at all."""

from collections.abc import Mapping

from activities.plan import BROUGHT, Plan, is_failed, plan, says_who_anew
from activities.read_document import FAULT, FAULTS
from activities.store.pages.listed_grants import kept_grants
from activities.store.pages.listing import Draft, Item, Known
from headwater.connectors import Change, ChangeKind


def add_change(
    draft: Draft,
    change: Change,
    known: Mapping[str, Known],
    *,
    rule_version: int,
    full: bool,
    parsers: frozenset[str],
) -> None:
    """Puts ``change`` into ``draft``, by what is ``known`` of its source. What was listed last counts."""
    held = known.get(change.source_id)
    draft.items.pop(change.source_id, None)
    if change.kind is ChangeKind.DELETE:
        if held is not None and held.is_member:
            draft.items[change.source_id] = Item(kind="delete", source_id=change.source_id)
        return
    what = plan(change, held, full=full, rule_version=rule_version, parsers=parsers)
    if held is not None and what not in BROUGHT:
        _count(draft, change, held)
    if held is not None and what is Plan.NOTHING:
        draft.unchanged_pks.append(held.source_pk)
        return
    draft.items[change.source_id] = Item(
        kind="upsert" if what in BROUGHT else "grants",
        source_id=change.source_id,
        locator=change.locator,
        path=change.path,
        version=change.version,
        label=change.label,
        access=change.access,
        grants=kept_grants(change.grants) if says_who_anew(change, held, rule_version=rule_version) else None,
        faults=_faults(change, held),
    )


def _faults(change: Change, held: Known | None) -> int:
    """How many tries it has used up: one at which its origin failed last time, as it is now, has a single one left."""
    if held is None or held.parser != FAULT or change.version is None or change.version != held.source_version:
        return 0
    return FAULTS - 1


def _count(draft: Draft, change: Change, held: Known) -> None:
    if held.is_denied or held.is_hidden_at(change.version) or (change.grants is not None and change.grants.withheld):
        return  # neither unchanged nor failed, and told of when it was withheld
    if is_failed(held):
        draft.known_failed += 1
    else:
        draft.skipped += 1
