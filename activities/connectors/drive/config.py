"""The settings of a Drive connector, as its row keeps them: which part of Drive, as whom, and what grants mean here.

A row holds the path of a credentials file and nothing that is in it.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, Final, Self

import pydantic
from pydantic import AfterValidator, BaseModel, ConfigDict

from activities.connectors.drive.access_map import AccessMap
from activities.connectors.drive.credentials import CredentialSource
from activities.connectors.drive.grants import GrantRules
from activities.connectors.drive.service import ROOT_URL, check_root_url
from headwater.errors import ValidationError

FOLDERS_MAX: Final = 100
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")


def _check_id(value: str) -> str:
    if not _ID.match(value):
        raise ValueError(
            f"{value[:80]!r} is no id of Drive: give what follows folders/ in the address, up to the next ? or /"
        )
    return value


DriveId = Annotated[str, AfterValidator(_check_id)]


class DriveConfig(BaseModel):
    """Without ``folder_ids`` all that the account sees, or all of ``drive_id``. ``root`` is My Drive."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder_ids: tuple[DriveId, ...] = ()
    drive_id: DriveId | None = None
    credentials: str | None = None
    subject: str | None = None
    root_url: str = ROOT_URL
    discoverable_as_everyone: bool = False
    access_map: dict[str, Any] | None = None

    @classmethod
    def parse(cls, config: Mapping[str, Any]) -> Self:
        """The settings, checked. Raises `ValidationError` with one sentence."""
        try:
            parsed = cls.model_validate(dict(config))
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "the settings"
            raise ValidationError(f"Drive connector: {where}: {first['msg'].removeprefix('Value error, ')}.") from None
        check_root_url(parsed.root_url)
        parsed.credential_source()
        if len(parsed.folder_ids) > FOLDERS_MAX:
            raise ValidationError(f"A Drive connector takes at most {FOLDERS_MAX} folders: make several connectors.")
        parsed.grant_rules()
        return parsed

    def credential_source(self) -> CredentialSource:
        return CredentialSource(file=self.credentials, subject=self.subject)

    def grant_rules(self) -> GrantRules:
        table = None if self.access_map is None else _access_map(json.dumps(self.access_map))
        return GrantRules(discoverable_as_everyone=self.discoverable_as_everyone, map_grantee=table)

    def to_config(self) -> dict[str, Any]:
        """What the connector's row keeps."""
        return self.model_dump(mode="json", exclude_defaults=True)


@lru_cache(maxsize=16)
def _access_map(stored: str) -> AccessMap:
    """A connector is made for each document, and its table may have thousands of rules."""
    return AccessMap.from_json(json.loads(stored))


__all__ = ["DriveConfig", "DriveId"]
