"""Where documents come from. The protocol is `headwater.connectors`; here is the choice among implementations."""

from collections.abc import Mapping
from threading import Lock
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
    next: see `WorkersConnectors`.
    """
    if kind == "folder":
        return LocalFolder.from_config(config, name=name)
    if kind == "drive":
        from activities.connectors.drive.drive import Drive  # here: Google's client takes a second to load
        from activities.pause import pause

        return Drive.from_config(config, memory=memory, sessions=sessions, wait=pause)
    raise ValidationError(f"Connector {name!r} is of the unknown kind {kind!r}: this version has folder and drive.")


class WorkersConnectors:
    """`make_connector` for all threads of a worker, with sign-ins that outlive each connector. `close` it at the end."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sessions: DriveSessions | None = None

    def __call__(self, kind: str, config: Mapping[str, Any], *, name: str, memory: Memory | None = None) -> Connector:
        sessions = self._of_drive() if kind == "drive" else None
        return make_connector(kind, config, name=name, memory=memory, sessions=sessions)

    def close(self) -> None:
        if self._sessions is not None:
            self._sessions.close()

    def _of_drive(self) -> "DriveSessions":
        with self._lock:
            if self._sessions is None:
                from activities.connectors.drive.sessions import DriveSessions  # here for the reason above

                self._sessions = DriveSessions()
            return self._sessions


__all__ = [
    "AccessRule",
    "LocalFolder",
    "MakeConnector",
    "WorkersConnectors",
    "default_connector_name",
    "folder_config",
    "make_connector",
]
