"""Where documents come from. The protocol is `headwater.connectors`; here is the choice among implementations."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from activities.connectors.access_rule import AccessRule
from activities.connectors.folder_ids import default_connector_name
from activities.connectors.local_folder import LocalFolder, folder_config
from headwater.connectors import Connector, Memory
from headwater.errors import ValidationError

if TYPE_CHECKING:
    from activities.connectors.drive.sessions import DriveSessions


class MakeConnector(Protocol):
    """Makes the connector of a row."""

    def __call__(
        self, kind: str, config: Mapping[str, Any], *, name: str, memory: Memory | None = None
    ) -> Connector: ...


def make_connector(
    kind: str,
    config: Mapping[str, Any],
    *,
    name: str,
    memory: Memory | None = None,
    sessions: "DriveSessions | None" = None,
) -> Connector:
    """The connector of a row: its ``kind``, its ``config``, and the ``name`` that stands in its source ids.

    It lists with a ``memory``. Who only fetches needs none. ``sessions`` keeps sign-ins to Drive from one connector to the
    next; a worker binds its own with `functools.partial`.
    """
    if kind == "folder":
        return LocalFolder.from_config(config, name=name)
    if kind == "drive":
        from activities.connectors.drive.drive import Drive  # here: Google's client takes a second to load

        return Drive.from_config(config, memory=memory, sessions=sessions)
    raise ValidationError(f"Connector {name!r} is of the unknown kind {kind!r}: this version has folder and drive.")


__all__ = ["AccessRule", "LocalFolder", "MakeConnector", "default_connector_name", "folder_config", "make_connector"]
