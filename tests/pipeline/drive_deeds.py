"""What people do on Drive all day, at random.

Everything follows from the seed. Deeds are done as people who may do them; what Drive refuses to everybody does not
happen.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from tests.drive.errors import DriveError
from tests.drive.items import File, Role
from tests.drive.native import native_type
from tests.pipeline.drive_company import GROUP, ROBOT, STAFF, TEXTS, Company

GRANTEES: Final = (*STAFF, *STAFF, GROUP, "a.test", "anyone")
FILES_MAX: Final = 28  # what everybody may find must fit one answer
FOLDERS_MAX, SHORTCUTS_MAX = 16, 12


class BusyCompany(Company):
    """One that does something at each step."""

    def step(self) -> None:
        """One deed, by somebody who may."""
        with self.world.lock:
            self.chance.choice(self._deeds())()
            hidden = self.world.modes.hidden_permissions
            hidden -= {each for each in hidden if self._is_in_a_drive(each[0])}

    def _is_in_a_drive(self, file_id: str) -> bool:
        return self.world.exists(file_id) and self.world.file(file_id).drive_id is not None

    def _deeds(self) -> list[Callable[[], object]]:
        return [
            self.add_file, self.add_file, self.add_file, self.add_document, self.add_folder, self.add_shortcut,
            self.add_shortcut, self.write, self.write, self.convert, self.rename, self.move, self.move, self.move,
            self.trash, self.untrash, self.delete, self.share, self.share, self.share, self.share_for_a_while,
            self.unshare, self.unshare, self.limit, self.limit, self.view, self.transfer, self.change_group,
            self.change_members, self.rename_drive, self.tangle, self.hide, self.clear_away,
        ]  # fmt: skip

    def add_file(self) -> None:
        if self._has_room():
            parent, name, text = self._place(), f"{self._number()}.txt", self._new_text()
            self._somebody(lambda who: self.world.add_file(name, text, parent=parent, by=who))

    def add_document(self) -> None:
        if self._has_room():
            parent, name, text = self._place(), f"Document {self._number()}", self._new_text()
            kind, exports = self.chance.choice(
                (("document", TEXTS), ("document", TEXTS[1:]), ("presentation", TEXTS[1:]), ("form", ()))
            )
            contents = dict.fromkeys(exports, text)
            self._somebody(lambda who: self.world.add_document(name, contents, kind=kind, parent=parent, by=who))

    def add_folder(self) -> None:
        if sum(file.is_folder for file in self.world.all_files()) < FOLDERS_MAX:
            parent, name = self._place(), f"Folder {self._number()}"
            self._somebody(lambda who: self.world.add_folder(name, parent=parent, by=who))

    def add_shortcut(self) -> None:
        if sum(file.is_shortcut for file in self.world.all_files()) < SHORTCUTS_MAX:
            parent, target = self._place(), self._thing().id
            self._somebody(lambda who: self.world.add_shortcut("Shortcut", target, parent=parent, by=who))

    def write(self) -> None:
        file, text = self._document(), self._new_text()
        if file.is_native:
            exports = dict.fromkeys(file.exports, text)
            self._somebody(lambda who: self.world.write(file.id, exports=exports, by=who))
        else:
            self._somebody(lambda who: self.world.write(file.id, text, by=who))

    def convert(self) -> None:
        """A file becomes a document, or a form, of which nothing can be read; a document becomes a file."""
        file, text = self._document(), self._new_text()
        if file.is_native:
            self._somebody(lambda who: self.world.write(file.id, text, mime_type="text/plain", by=who))
            return
        kind, exports = self.chance.choice((("document", TEXTS), ("form", ())))
        mime_type, contents = native_type(kind), dict.fromkeys(exports, text)
        self._somebody(lambda who: self.world.write(file.id, exports=contents, mime_type=mime_type, by=who))

    def rename(self) -> None:
        thing, name = self._thing(), f"{self._number()}.txt"
        self._somebody(lambda who: self.world.rename(thing.id, name, by=who))

    def move(self) -> None:
        thing, place = self._thing(), self._place()
        self._somebody(lambda who: self.world.move(thing.id, place, by=who))

    def trash(self) -> None:
        thing = self._thing()
        self._somebody(lambda who: self.world.trash(thing.id, by=who))

    def untrash(self) -> None:
        trashed = [file for file in self.world.all_files() if file.explicitly_trashed]
        if trashed:
            thing = self.chance.choice(trashed)
            self._somebody(lambda who: self.world.untrash(thing.id, by=who))

    def delete(self) -> None:
        thing = self._thing()
        if not thing.is_folder or self.chance.random() < 0.5:
            self._somebody(lambda who: self.world.delete(thing.id, by=who))

    def share(self) -> None:
        thing, whom = self._shared(), self.chance.choice((*GRANTEES, ROBOT))
        role, is_discoverable = self._role(whom), self.chance.random() < 0.5
        self._somebody(lambda who: self.world.share(thing, whom, role, discoverable=is_discoverable, by=who))

    def share_for_a_while(self) -> None:
        thing, whom = self._shared(), self.chance.choice((*STAFF, GROUP))
        ends = self.world.clock.now() + timedelta(seconds=self.chance.uniform(1, 6))
        self._somebody(lambda who: self.world.share(thing, whom, expires=ends, by=who))

    def unshare(self) -> None:
        """Somebody whom it is shared with loses it; of the robot's two folders not the robot."""
        thing = self._shared()
        held = [each.id for each in self.world.file(thing).permissions.values() if each.role != "owner"]
        if held and (thing not in self._tops() or self.chance.random() < 0.7):
            whom = self.chance.choice(held)
            if thing in self._tops() and whom == self.world.user(ROBOT).permission_id:
                return
            self._somebody(lambda who: self.world.unshare(thing, whom, by=who))

    def limit(self) -> None:
        folders = [file for file in self._things() if file.is_folder]
        if folders:
            folder, is_limited = self.chance.choice(folders).id, self.chance.random() < 0.5
            self._somebody(lambda who: self.world.edit(folder, inherited_permissions_disabled=is_limited, by=who))

    def view(self) -> None:
        thing = self._thing()
        self._somebody(lambda who: self.world.view(thing.id, by=who), among=(*STAFF, ROBOT))

    def transfer(self) -> None:
        thing, to, is_moved = self._thing(), self.chance.choice(STAFF), self.chance.random() < 0.3
        self._somebody(lambda who: self.world.transfer(thing.id, to, move_to_root=is_moved, by=who))

    def change_group(self) -> None:
        self.world.set_members(GROUP, self.chance.sample(STAFF, self.chance.randrange(3)))

    def change_members(self) -> None:
        drive, whom = self.chance.choice((self.crew, self.club)), self.chance.choice((*STAFF, GROUP))
        role: Role = self.chance.choice(("reader", "writer", "fileOrganizer"))
        if self.chance.random() < 0.6:
            self._somebody(lambda who: self.world.share(drive, whom, role, by=who))
        else:
            self._somebody(lambda who: self.world.unshare(drive, whom, by=who))

    def rename_drive(self) -> None:
        drive, name = self.chance.choice((self.crew, self.club)), f"Drive {self._number()}"
        self._somebody(lambda who: self.world.rename_drive(drive, name, by=who))

    def tangle(self) -> None:
        """Several parents, or none: what My Drive has of old."""
        thing = self._thing()
        if thing.drive_id is None and self.chance.random() < 0.5:
            places = [place for place in self._places() if self.world.file(place).drive_id is None]
            self.world.set_parents(thing.id, self.chance.sample(places, self.chance.randrange(3)))

    def hide(self) -> None:
        """Drive keeps one of a file's permissions from every list, as it now and then does, or shows it again.

        Not in shared drives: who may not share there is told of no permission's id, and cannot miss one.
        """
        hidden = self.world.modes.hidden_permissions
        if hidden and self.chance.random() < 0.7:
            pair = self.chance.choice(sorted(hidden))
        else:
            file = self._document()
            pair = (file.id, self.chance.choice(sorted(self.world.standings(file.id))))
        if not self.world.exists(pair[0]):
            hidden.discard(pair)
            return
        hidden ^= {pair}
        # The feed says nothing of it, unless somebody opens the file.
        if not self._somebody(lambda who: self.world.view(pair[0], by=who)):
            hidden ^= {pair}

    def clear_away(self) -> None:
        """Drive's housekeeping."""
        self.world.expire()

    def _somebody(self, deed: Callable[[str], object], among: tuple[str, ...] = STAFF) -> bool:
        """The deed is done by the first of the people, in any order, whom Drive lets do it."""
        for who in self.chance.sample(among, len(among)):
            try:
                deed(who)
            except DriveError:
                continue
            return True
        return False

    def _has_room(self) -> bool:
        return len(self._documents()) < FILES_MAX

    def _documents(self) -> list[File]:
        return [file for file in self._things() if not file.is_folder and not file.is_shortcut]

    def _document(self) -> File:
        return self.chance.choice(
            self._documents() or [self.world.add_file("first.txt", "Text 0.", parent=self.office)]
        )

    def _thing(self) -> File:
        return self.chance.choice(self._things() or [self._document()])

    def _things(self) -> list[File]:
        return [file for file in self.world.all_files() if file.id not in self._tops()]

    def _tops(self) -> set[str]:
        return {self.office, self.attic, self.annex, self.crew, self.club, self.plans}

    def _shared(self) -> str:
        """Anything that can be shared but a drive; folders more often than chance has it."""
        folders = [file.id for file in self._things() if file.is_folder]
        return self.chance.choice(
            [*(file.id for file in self._things()), *folders, self.office, self.annex, self.plans]
        )

    def _place(self) -> str:
        return self.chance.choice(self._places())

    def _places(self) -> list[str]:
        """Folders; the office more often than chance has it."""
        return [self.office, *sorted(self._tops()), *(file.id for file in self._things() if file.is_folder)]

    def _role(self, whom: str) -> Role:
        if whom == ROBOT:
            return self.chance.choice(("reader", "writer"))
        return self.chance.choice(("reader", "commenter", "writer")) if "@" in whom else "reader"

    def _new_text(self) -> str:
        return f"Text {self._number()}."

    def _number(self) -> int:
        return self.chance.randrange(10**9)
