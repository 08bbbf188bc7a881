"""Whom Drive's grantees are here: a table in the connector's settings that replaces what a grantee gets by default.

YAML: a list of ``{drive: "group:eng@a.test", grant: ["group:engineering"]}``; TOML: ``[[access]]`` tables with the same
keys. What Drive grants to the one is granted to the others instead, for as long. An empty ``grant`` grants nothing; to
add, write the default beside the rest.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

from activities.connectors.access_file import Grammar, RawEntry, read_access_file
from activities.connectors.access_rule import parse_grants, written_grants
from activities.connectors.drive.grants import NAME_MAX, Grantee
from headwater.connectors import GrantSet
from headwater.errors import ValidationError
from headwater.ids import UNSTORABLE

GRAMMAR: Final = Grammar(
    key="drive",
    example='{drive: "group:eng@a.test", grant: ["group:engineering"]}',
    entries_max=4_096,
    hint="put every value in quotes",
)
_NAMED: Final = ("user", "group", "domain", "domain-link")
_UNNAMED: Final = ("anyone", "anyone-link")


@dataclass(frozen=True, slots=True)
class AccessMap:
    """Which grants each grantee of Drive gets here, by `Grantee.key`."""

    grants: Mapping[str, GrantSet] = field(default_factory=dict)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """The table in a YAML or TOML file. Raises `ValidationError` with the file and the line."""
        entries = read_access_file(Path(path), GRAMMAR)
        return cls(_table(entries, lambda line: f"{path}, line {line}: "))

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The table that `to_json` wrote."""
        try:
            raw = [RawEntry(drive, [(each, 0) for each in grant], 0) for drive, grant in stored["map"].items()]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValidationError("The stored access map is damaged: give --access-map again.") from error
        return cls(_table(raw, lambda line: "The stored access map is damaged: "))

    def to_json(self) -> dict[str, Any]:
        """The table as the connector's row keeps it."""
        return {"map": {key: list(written_grants(grants)) for key, grants in self.grants.items()}}

    def __call__(self, grantee: Grantee) -> GrantSet | None:
        """What the grantee gets; ``None`` if the table does not name it."""
        return self.grants.get(grantee.key)


def _table(entries: list[RawEntry], place: Callable[[int], str]) -> dict[str, GrantSet]:
    table: dict[str, GrantSet] = {}
    for entry in entries:
        with _placed(place(entry.line)):
            key = _key(entry.subject)
            if key in table:
                raise ValidationError(f"{key} stands twice: one grantee has one rule.")
        for grant, line in entry.grants:
            with _placed(place(line)):
                parse_grants([grant])
        with _placed(place(entry.line)):
            table[key] = parse_grants(grant for grant, _ in entry.grants)
    return table


@contextmanager
def _placed(where: str) -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        raise ValidationError(f"{where}{error}") from None


def _key(written: str) -> str:
    """The grantee as `Grantee.key` spells it. Addresses and domains are lower-cased: Drive compares them so."""
    if written in _UNNAMED:
        return written
    kind, colon, name = written.partition(":")
    if kind not in _NAMED or not colon:
        raise ValidationError(
            f"{written[:80]!r} must be user:ADDRESS, group:ADDRESS, domain:NAME, domain-link:NAME, anyone or anyone-link."
        )
    name = name.strip().lower()
    is_domain = kind.startswith("domain")
    if not 1 <= len(name) <= NAME_MAX or UNSTORABLE.search(name) or ("@" in name) is is_domain:
        what = "a domain such as a.test" if is_domain else "an address such as eng@a.test"
        raise ValidationError(f"{written[:80]!r} must name {what}.")
    return f"{kind}:{name}"
