"""Who may read which file of a folder: globs in order, the first that matches decides, and none means nobody."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from activities.connectors.access_file import RawEntry, read_access_file
from activities.connectors.path_glob import compile_glob
from headwater.connectors import GrantSet
from headwater.contracts.access import PRINCIPALS_MAX
from headwater.errors import ValidationError
from headwater.ids import UNSTORABLE
from headwater.models import GROUPS_MAX

NAME_MAX = 256

_NOBODY = GrantSet()


@dataclass(frozen=True, slots=True)
class AccessEntry:
    path: str
    grants: GrantSet


@dataclass(frozen=True, slots=True)
class AccessRule:
    """What ``--grant`` or ``--access`` said, in the form that the connector's row keeps."""

    entries: tuple[AccessEntry, ...]
    _matchers: tuple[tuple[re.Pattern[str], GrantSet], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        matchers = tuple((compile_glob(_composed(entry.path)), entry.grants) for entry in self.entries)
        object.__setattr__(self, "_matchers", matchers)

    @classmethod
    def from_grants(cls, grants: Iterable[str]) -> Self:
        """The same grants for every file: ``user:X``, ``group:X`` or ``everyone``."""
        return cls((AccessEntry("**", parse_grants(grants)),))

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """The rule in a YAML or TOML file. Raises `ValidationError` with the file and the line."""
        return cls(tuple(_entry(raw, path) for raw in read_access_file(Path(path))))

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """The rule that `to_json` wrote."""
        try:
            raw = [RawEntry(entry["path"], [(grant, 0) for grant in entry["grant"]], 0) for entry in stored["rules"]]
            return cls(tuple(_entry(entry, None) for entry in raw))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValidationError("The stored access rule is damaged: sync once with --grant or --access.") from error

    def to_json(self) -> dict[str, Any]:
        return {"rules": [{"path": entry.path, "grant": written_grants(entry.grants)} for entry in self.entries]}

    def grants_for(self, path: str) -> GrantSet:
        """Who may read the file of this label (`Change.path`)."""
        composed = _composed(path)
        for pattern, grants in self._matchers:
            if pattern.fullmatch(composed):
                return grants
        return _NOBODY


def _composed(text: str) -> str:
    """NFC: macOS spells é in file names as two characters, an editor as one, and nobody can see the difference."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _entry(raw: RawEntry, file: str | Path | None) -> AccessEntry:
    """The entry, checked. An error names ``file`` and the line, where there is a file."""
    grants = [grant for grant, _ in raw.grants]
    with _placed(file, raw.line):
        compile_glob(raw.subject)
    for grant, line in raw.grants:
        with _placed(file, line):
            parse_grants([grant])
    with _placed(file, raw.line):
        parse_grants(grants)
    return AccessEntry(raw.subject, parse_grants(grants))


@contextmanager
def _placed(file: str | Path | None, line: int) -> Iterator[None]:
    try:
        yield
    except ValidationError as error:
        raise ValidationError(f"{file}, line {line}: {error}" if file else str(error)) from None


def parse_grants(grants: Iterable[str]) -> GrantSet:
    """``user:X``, ``group:X`` and ``everyone`` as a set: sorted, each once. X is compared exactly."""
    users: set[str] = set()
    groups: set[str] = set()
    everyone = False
    for grant in grants:
        kind, colon, name = grant.partition(":")
        if grant == "everyone":
            everyone = True
        elif kind in ("user", "group") and colon:
            (users if kind == "user" else groups).add(_name(name, grant))
        else:
            raise ValidationError(f"The grant {grant[:80]!r} must be user:NAME, group:NAME or everyone.")
    if len(groups) > GROUPS_MAX or len(users) > PRINCIPALS_MAX:
        raise ValidationError(
            f"{len(users)} users and {len(groups)} groups are too many for one path: "
            f"at most {PRINCIPALS_MAX} and {GROUPS_MAX}."
        )
    return GrantSet(tuple(sorted(users)), tuple(sorted(groups)), everyone)


def written_grants(grants: GrantSet) -> Sequence[str]:
    """The set as `parse_grants` reads it."""
    users = [f"user:{name}" for name in grants.principal_ids]
    groups = [f"group:{name}" for name in grants.group_ids]
    return [*users, *groups, *(["everyone"] if grants.everyone else [])]


def _name(name: str, grant: str) -> str:
    if not 1 <= len(name) <= NAME_MAX or UNSTORABLE.search(name):
        raise ValidationError(
            f"The grant {grant[:80]!r} must name somebody in 1 to {NAME_MAX} characters without NUL or lone surrogates."
        )
    if name != name.strip():
        raise ValidationError(f"The grant {grant[:80]!r} has a space at an end of the name: names compare exactly.")
    return name
