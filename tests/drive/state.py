"""What there is in the world, and how it hangs together: the layer below access, views and changes.

`World` is built in layers, each a class with one concern that knows only those below it.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Concatenate, ParamSpec, TypeVar

from tests.drive.clock import Clock
from tests.drive.ids import Ids
from tests.drive.items import File, Group, SharedDrive, User
from tests.drive.modes import Modes

_State = TypeVar("_State", bound="State")
_P = ParamSpec("_P")
_R = TypeVar("_R")


def locked(method: Callable[Concatenate[_State, _P], _R]) -> Callable[Concatenate[_State, _P], _R]:
    """The method holds the world's lock while it runs, so that nobody sees half a change."""

    @functools.wraps(method)
    def run(self: _State, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        with self.lock:
            return method(self, *args, **kwargs)

    return run


class State:
    """Accounts, drives and files, by address and id."""

    def __init__(self, *, seed: int = 0, clock: Clock | None = None, modes: Modes | None = None) -> None:
        """Ids and tokens follow from ``seed`` and the order of what happens."""
        self.lock = threading.RLock()
        self.clock = clock or Clock()
        self.modes = modes or Modes()
        self.base_url = "http://drive.invalid"
        """Where it is served; export links begin with it. The server sets it."""
        self.users: dict[str, User] = {}
        self.groups: dict[str, Group] = {}
        self.drives: dict[str, SharedDrive] = {}
        self.changes_made = 0
        """Goes up with every change: what was worked out before is stale then."""
        self._ids = Ids(seed)
        self._files: dict[str, File] = {}
        self._children: dict[str, dict[str, None]] = {}
        self._last_versions: dict[str, int] = {}
        self._may_expire = False

    @locked
    def file(self, file_id: str) -> File:
        """The file, whoever asks; ``root`` is no alias here. `KeyError` when it is gone."""
        return self._files[file_id]

    @locked
    def exists(self, file_id: str) -> bool:
        return file_id in self._files

    @locked
    def all_files(self) -> list[File]:
        """Everything but the roots, orphans too, in the order in which it was made."""
        return [file for file in self._files.values() if not file.is_root]

    @locked
    def user(self, email: str) -> User:
        """The account. `KeyError` when there is none."""
        return self.users[email.lower()]

    @locked
    def root_of(self, email: str) -> str:
        """The id of the user's My Drive."""
        return self.user(email).root_id

    @locked
    def children_of(self, folder_id: str) -> list[File]:
        return [self._files[child] for child in self._children.get(folder_id, ())]

    @locked
    def below(self, folder_id: str) -> list[str]:
        """The ids of everything below the folder, parents before children; a cycle is walked once."""
        found: dict[str, None] = {}
        todo = [folder_id]
        for folder in todo:
            for child in self._children.get(folder, ()):
                if child not in found and child != folder_id:
                    found[child] = None
                    todo.append(child)
        return list(found)

    @locked
    def above(self, file_id: str) -> list[str]:
        """The ids of all folders above the file, nearest first."""
        found: dict[str, None] = {}
        todo = [file_id]
        for item in todo:
            for parent in self._files[item].parents:
                if parent in self._files and parent not in found:
                    found[parent] = None
                    todo.append(parent)
        return list(found)

    @locked
    def is_trashed(self, file_id: str) -> bool:
        """Trashed itself, or on every way up there is a trashed folder."""
        return self._is_trashed(file_id, frozenset())

    def _is_trashed(self, file_id: str, below: frozenset[str]) -> bool:
        file = self._files[file_id]
        if file.explicitly_trashed:
            return True
        ways_up = [parent for parent in file.parents if parent in self._files and parent not in below]
        return bool(ways_up) and all(self._is_trashed(parent, below | {file_id}) for parent in ways_up)

    @locked
    def path_of(self, file_id: str) -> str:
        """The names from the root down to the file, for people; by the first parent where there are several."""
        return "/".join(reversed([file.name for file in self._way_up(file_id) if not file.is_root]))

    def _way_up(self, file_id: str) -> Iterator[File]:
        seen: set[str] = set()
        while file_id in self._files and file_id not in seen:
            seen.add(file_id)
            yield self._files[file_id]
            file_id = next(iter(self._files[file_id].parents), "")

    @locked
    def documents(self, *, below: str | None = None, drive_id: str | None = None) -> list[File]:
        """Files that are documents (no folders, no shortcuts), not in the trash, in the order they were made."""
        reach = None if below is None else {below, *self.below(below)}
        return [
            file
            for file in self._files.values()
            if not file.is_folder and not file.is_shortcut
            if reach is None or file.id in reach
            if drive_id is None or file.drive_id == drive_id
            if not self.is_trashed(file.id)
        ]

    def _keep(self, file: File) -> File:
        """A new file takes its place. An id that was used before goes on counting its versions."""
        file.version = self._last_versions.get(file.id, 0) + 1
        self._files[file.id] = file
        for parent in file.parents:
            self._children.setdefault(parent, {})[file.id] = None
        return file

    def _drop(self, file_id: str) -> None:
        file = self._files.pop(file_id)
        self._last_versions[file_id] = file.version
        self._set_parents(file, [])

    def _set_parents(self, file: File, parents: list[str]) -> None:
        for parent in file.parents:
            self._children.get(parent, {}).pop(file.id, None)
        file.parents = parents
        if file.id in self._files:
            for parent in parents:
                self._children.setdefault(parent, {})[file.id] = None
