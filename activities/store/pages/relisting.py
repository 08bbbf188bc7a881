"""Whether a pass over a feed must list everything: its connector holds something that the feed may never name again."""

import hashlib

from activities.store.database import Store
from activities.store.sql import queries


def must_list_all(store: Store, connector_id: int, *, rule_version: int, parsers: frozenset[str]) -> bool:
    """Whether the connector holds something that has to be listed again, although its origin may never name it again.

    A new rule or a new parser reaches all of its sources; some were rolled back, or given back their grants. Where its origin
    itself says who may read there is no rule; and once all was seen to be read by these parsers, what is read later is too. Then only
    what is lost is asked for, which costs the same however many sources there are.
    """
    sql = queries(store.schema, "relisting")
    key = {"connector_id": connector_id, "read_with": _fingerprint(parsers)}
    with store.connection() as connection:
        known = None if rule_version else connection.execute(sql["lost"], key).fetchone()
        if known is not None:
            return bool(known[0])
        asked = {"connector_id": connector_id, "rule_version": rule_version, "parsers": sorted(parsers)}
        behind = connection.execute(sql["behind"], asked).fetchone()
        assert behind is not None
        if not behind[0] and not rule_version:
            connection.execute(sql["note_read_with"], key)
        return bool(behind[0])


def _fingerprint(parsers: frozenset[str]) -> str:
    return hashlib.sha256("\n".join(sorted(parsers)).encode()).hexdigest()[:32]
