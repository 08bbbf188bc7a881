"""Who may read a source: grants that are replaced as a whole, under an access version that only rises.

Names become numbers before the scope's lock; under it, a set is compared with the one that is held and written in the
same transaction. Publishing applies a host's grants with the same functions, so that there is one rule.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from psycopg import Connection

from activities.store.database import Store
from activities.store.requests import audit, note_step, step_result
from activities.store.scopes import find_scope, no_corpus
from activities.store.sql import queries
from headwater.contracts import AccessOutcome, Conflict, Grants, SetSourceAccessResult, SourceGrants
from headwater.contracts.deletion import check_tenant
from headwater.errors import AccessError
from headwater.models import Authorization, Scope
from headwater.store.statements import statement

STEP: Final = "set_access"
TOO_WIDE: Final = "too_many_grantees"

Grantee = tuple[str, str]  # kind and name, as the table `grantee` has them
Change = Literal["set", "unchanged", "conflict"]


@dataclass(frozen=True, slots=True)
class GrantedSet:
    """Who is granted a source, by number: some without an end, some until an instant."""

    permanent: frozenset[int]
    expiring: Mapping[int, datetime]


def narrowed(held: GrantedSet, asked: GrantedSet) -> GrantedSet:
    """Whom both grant it, until the first of the two ends."""
    both = {*held.permanent, *held.expiring} & {*asked.permanent, *asked.expiring}
    ends = {each: [granted.expiring[each] for granted in (held, asked) if each in granted.expiring] for each in both}
    return GrantedSet(
        permanent=frozenset(each for each in both if not ends[each]),
        expiring={each: min(ends[each]) for each in both if ends[each]},
    )


@dataclass(frozen=True, slots=True)
class HeldGrants:
    """A source's row with the grants it has, read under its lock."""

    source_id: str
    source_pk: int
    access_version: int
    granted: GrantedSet


def set_access(
    store: Store, scope: Scope, grants: Sequence[SourceGrants], *, request_no: int, actor: str | None
) -> SetSourceAccessResult:
    """What became of each source's grants, in the order they were given. A repeat answers the same."""
    fitting = [each for each in grants if not each.is_too_wide]
    with store.connection() as connection:
        numbers = ensure_grantees(connection, store.schema, scope.tenant_id, fitting)
        with connection.transaction():
            scope_id = lock_scope(connection, store.schema, scope)
            known = step_result(connection, store.schema, request_no, STEP)
            if known is not None:
                return SetSourceAccessResult.model_validate(known)
            ensure_sources(connection, store.schema, scope_id, [each.source_id for each in fitting])
            held = lock_held(connection, store.schema, scope_id, [each.source_id for each in grants])
            judged = [_judge(each, held.get(each.source_id), numbers) for each in grants]
            write_grants(connection, store.schema, [change for _, change in judged if change is not None])
            result = SetSourceAccessResult(sources=tuple(outcome for outcome, _ in judged))
            audit(connection, store.schema, scope_id, actor=actor, action=STEP, detail=_counts(result))
            note_step(connection, store.schema, request_no, STEP, result.model_dump(mode="json"))
            return result


@dataclass(frozen=True, slots=True)
class NewGrants:
    """A set to be written in place of the one a source has."""

    source_pk: int
    access_version: int
    granted: GrantedSet


def _judge(
    wanted: SourceGrants, held: HeldGrants | None, numbers: Mapping[Grantee, int]
) -> tuple[AccessOutcome, NewGrants | None]:
    stored = 0 if held is None else held.access_version
    if held is None or wanted.is_too_wide:
        denied = AccessOutcome(source_id=wanted.source_id, outcome="denied", access_version=stored, reason=TOO_WIDE)
        return denied, None
    granted = granted_set(wanted, numbers)
    match compare(held, wanted.access_version, granted):
        case "set":
            outcome = AccessOutcome(
                source_id=wanted.source_id, outcome="set", access_version=wanted.access_version
            )  # fmt: skip
            return outcome, NewGrants(held.source_pk, wanted.access_version, granted)
        case "unchanged":
            return AccessOutcome(source_id=wanted.source_id, outcome="unchanged", access_version=stored), None
        case "conflict":
            conflict = Conflict(expected=wanted.access_version, actual=stored)
            return AccessOutcome(
                source_id=wanted.source_id, outcome="conflict", access_version=stored, conflict=conflict
            ), None


def compare(held: HeldGrants, access_version: int, granted: GrantedSet) -> Change:
    """What giving ``granted`` at ``access_version`` does: a higher version replaces, the same set changes nothing."""
    if access_version > held.access_version:
        return "set"
    return "unchanged" if access_version == held.access_version and granted == held.granted else "conflict"


def ends_of(grants: Grants) -> dict[Grantee, datetime | None]:
    """Every name of the set and when its grant ends. Named twice, the later end counts; nothing outlives the set's own."""
    ends: dict[Grantee, datetime | None] = {}
    names = [("principal", name) for name in grants.principal_ids]
    names += [("group", name) for name in grants.group_ids]
    names += [("everyone", "")] if grants.everyone else []
    for grantee in names:
        ends[grantee] = grants.expires_at
    for each in grants.expiring:
        grantee = ("principal", each.principal_id) if each.principal_id else ("group", each.group_id or "")
        own = each.expires_at if grants.expires_at is None else min(each.expires_at, grants.expires_at)
        known = ends.get(grantee, own)
        ends[grantee] = None if known is None else max(known, own)
    return ends


def granted_set(grants: Grants, numbers: Mapping[Grantee, int]) -> GrantedSet:
    """The set by the names' numbers, of which `ensure_grantees` gave all."""
    ends = ends_of(grants)
    return GrantedSet(
        permanent=frozenset(numbers[grantee] for grantee, end in ends.items() if end is None),
        expiring={numbers[grantee]: end for grantee, end in ends.items() if end is not None},
    )


def ensure_grantees(
    connection: Connection, schema: str, tenant_id: str, grants: Iterable[Grants]
) -> dict[Grantee, int]:
    """The numbers of all names in ``grants``, made where they are new. To be called outside any transaction."""
    names = _names(grants)
    if names:
        connection.execute(queries(schema, "access")["ensure_grantees"], _named(tenant_id, names))
    return _numbers(connection, schema, tenant_id, names)


def grantee_numbers(
    connection: Connection, schema: str, tenant_id: str, grants: Iterable[Grants]
) -> dict[Grantee, int] | None:
    """The numbers of all names in ``grants``; None if one is new, and `ensure_grantees` is to be called before."""
    names = _names(grants)
    numbers = _numbers(connection, schema, tenant_id, names)
    return numbers if len(numbers) == len(names) else None


def _names(grants: Iterable[Grants]) -> list[Grantee]:
    return sorted({grantee for each in grants for grantee in ends_of(each)})


def _numbers(connection: Connection, schema: str, tenant_id: str, names: Sequence[Grantee]) -> dict[Grantee, int]:
    if not names:
        return {}
    rows = connection.execute(queries(schema, "access")["grantees"], _named(tenant_id, names))
    return {(kind, name): number for kind, name, number in rows}


def _named(tenant_id: str, names: Sequence[Grantee]) -> dict[str, object]:
    return {"tenant_id": tenant_id, "kinds": [kind for kind, _ in names], "names": [name for _, name in names]}


def authorize(
    connection: Connection,
    schema: str,
    scope: Scope,
    authorization: Authorization,
    source_ids: Sequence[str],
    service_principals: Collection[tuple[str, str]] = (),
) -> bool:
    """Whether only a service principal's right lets ``authorization`` act on these sources; `AccessError` if nothing does.

    Of a scope that speaks for another tenant it is a `ScopeError`.
    """
    check_tenant(authorization.tenant_id, scope.tenant_id)
    scope_id = find_scope(connection, schema, scope)
    return check_granted(connection, schema, scope_id, scope, authorization, source_ids, service_principals)


def check_granted(
    connection: Connection,
    schema: str,
    scope_id: int,
    scope: Scope,
    authorization: Authorization,
    source_ids: Sequence[str],
    service_principals: Collection[tuple[str, str]] = (),
) -> bool:
    """The same of a corpus that was found before: one statement, to be asked again under the lock."""
    missing = set(source_ids) - allowed(connection, schema, scope_id, authorization, source_ids)
    if not missing:
        return False
    if (authorization.tenant_id, authorization.principal_id) in service_principals:
        return True
    first = next(each for each in source_ids if each in missing)
    pinned = f" at access version {authorization.access_version}" if authorization.access_version else ""
    raise AccessError(
        f"{authorization.principal_id} has no grant for {first} of {scope}{pinned}: grant it (`source grant`, SetSourceAccess), or ask "
        "as one of the workers' service principals (HEADWATER_SERVICE_PRINCIPALS)."
    )


def allowed(
    connection: Connection, schema: str, scope_id: int, authorization: Authorization, source_ids: Collection[str]
) -> set[str]:
    """Those of ``source_ids`` that are granted now: by name, group or to everyone, at a pinned version if there is one.

    The gate is the library's own, whatever else hides a source.
    """
    asked = {
        "tenant": authorization.tenant_id,
        "principal": authorization.principal_id,
        "groups": list(authorization.group_ids),
        "access_version": authorization.access_version,
        "scope_id": scope_id,
        "source_ids": list(source_ids),
    }
    return {row[0] for row in connection.execute(statement("granted_sources", schema), asked)}


def lock_scope(connection: Connection, schema: str, scope: Scope) -> int:
    """Takes the one lock of a corpus, which must have been indexed."""
    row = connection.execute(queries(schema, "scopes")["lock_scope"], scope.model_dump()).fetchone()
    if row is None or row[1] is None:
        raise no_corpus(scope)
    return int(row[0])


def ensure_sources(connection: Connection, schema: str, scope_id: int, source_ids: Sequence[str]) -> None:
    """Rows for ids that have none."""
    if source_ids:
        params = {"scope_id": scope_id, "source_ids": list(source_ids)}
        connection.execute(queries(schema, "access")["ensure_sources"], params)


def lock_held(connection: Connection, schema: str, scope_id: int, source_ids: Collection[str]) -> dict[str, HeldGrants]:
    """The rows of these sources, locked, with the grants they have. The caller holds the scope's lock."""
    params = {"scope_id": scope_id, "source_ids": list(source_ids)}
    rows = connection.execute(queries(schema, "access")["lock_sources"], params)
    return {row[0]: _held(row) for row in rows}


def _held(row: tuple[str, int, int, list[int], dict[str, str]]) -> HeldGrants:
    source_id, source_pk, version, permanent, expiring = row
    ends = {int(number): datetime.fromisoformat(end) for number, end in expiring.items()}
    return HeldGrants(source_id, source_pk, version, GrantedSet(frozenset(permanent), ends))


def write_grants(connection: Connection, schema: str, changes: Sequence[NewGrants]) -> None:
    """Puts these sets in place of those that are held. The caller holds the locks."""
    if not changes:
        return
    sql = queries(schema, "access")
    source_pks = [each.source_pk for each in changes]
    connection.execute(
        sql["write_grants"],
        {
            "source_pks": source_pks,
            "versions": [each.access_version for each in changes],
            "permanent": [_array(each.granted.permanent) for each in changes],
            "expiring": [_array(each.granted.expiring) for each in changes],
        },
    )
    connection.execute(sql["end_expiring"], {"source_pks": source_pks})
    ends = [(each.source_pk, number, end) for each in changes for number, end in each.granted.expiring.items()]
    if ends:
        connection.execute(
            sql["begin_expiring"],
            {
                "source_pks": [source_pk for source_pk, _, _ in ends],
                "grantee_ids": [number for _, number, _ in ends],
                "ends": [end for _, _, end in ends],
            },
        )


def _array(numbers: Iterable[int]) -> str:
    return "{" + ",".join(map(str, sorted(numbers))) + "}"


def _counts(result: SetSourceAccessResult) -> dict[str, object]:
    changed = [each.source_id for each in result.sources if each.outcome == "set"]
    return {"sources": len(result.sources), "set": changed}
