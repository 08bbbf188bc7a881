"""A company on Drive, the connectors that follow it, and the truth: what each of its people may find.

Everything follows from the seed: what of Drive is on and off, and what the connectors' account may do.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.drive.clock import Clock
from tests.drive.items import File, Role
from tests.drive.modes import Modes
from tests.drive.reach import reach
from tests.drive.world import World

ADA, BEN, EVE = STAFF = ("ada@a.test", "ben@a.test", "eve@b.test")
OUTSIDER, ROBOT = "out@c.test", "robot@r.test"
PEOPLE: Final = (*STAFF, OUTSIDER, ROBOT)
GROUP: Final = "eng@a.test"
TEXTS: Final[Sequence[str]] = ("text/markdown", "text/plain")  # as what a document is read, the first that it has


@dataclass(frozen=True)
class Wanted:
    """What one connector follows; with neither it is all that the robot sees."""

    name: str
    folders: tuple[str, ...] = ()
    drive_id: str | None = None


class Deal:
    """Deals out values so that every three seeds in a row, from one on, meet each of two or three values."""

    def __init__(self, seed: int) -> None:
        self._block, self._place = divmod(seed - 1, 3)
        self._chance = random.Random(self._block)

    def one_of(self, *values: Any) -> Any:
        hand = [*values, *self._chance.choices(values, k=max(0, 3 - len(values)))]
        return self._chance.sample(hand, 3)[self._place]

    def flag(self) -> bool:
        return bool(self.one_of(False, True))


def modes_of(deal: Deal) -> Modes:
    """Any combination of what Google leaves open."""
    return Modes(
        coalesce_changes=deal.flag(),
        change_states=deal.one_of("current", "then"),
        descendants_on_move=deal.flag(),
        descendants_on_trash=deal.flag(),
        descendants_on_access=deal.flag(),
        drive_items_in_user_log=deal.one_of("never", "used", "always"),
        lost_drive_status=deal.one_of(403, 404),
        duplicate_across_pages=deal.flag(),
        empty_pages=deal.flag(),
        page_cap=deal.one_of(None, 2, 5),
        or_parents_finds_nothing=deal.flag(),
        newest_first=deal.flag(),
        omit_permissions=deal.flag(),
        byte_order_mark=deal.flag(),
        export_limit=deal.one_of(4, 1 << 20),
    )


class Company:
    """Ada's folders and Ben's, and two shared drives: the office (and all below it) is followed, and the crew's drive."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        deal = Deal(seed)
        self.world = World(seed=seed, clock=Clock(follow_real_time=True), modes=modes_of(deal))
        for email in PEOPLE:
            self.world.add_user(email)
        self.world.add_group(GROUP, members=[BEN])
        self.everyone_finds = deal.flag()
        """Whether the connectors' settings say that a file which anyone may discover is everyone's."""

        self._robots_role: Role = deal.one_of("writer", "fileOrganizer", "organizer")
        self.office, self.attic = self._folder("Office", ADA), self._folder("Attic", ADA)
        self.annex = self._folder("Annex", BEN)
        self.crew, self.club = self._drive("Crew", ADA), self._drive("Club", BEN)
        self.plans = self.world.add_folder("Plans", parent=self.crew).id
        self.connectors = self._connectors(seed)
        self.is_drive_lost = False
        self._furnish()

    def held(self) -> dict[str, str]:
        """The texts, by id, that the connectors come to, and of which the robot may know who reads them."""
        world, found = self.world, dict[str, File]()
        with world.lock:
            for wanted in self.connectors:
                found |= reach(world, ROBOT, folders=wanted.folders, drive_id=wanted.drive_id)
            return {
                file_id: text
                for file_id, file in found.items()
                if (text := _text_of(file)) is not None and self._is_known_who_reads(file)
            }

    def texts(self) -> dict[str, str]:
        """Of all documents there are, by id, wherever they lie."""
        found = {
            file.id: _text_of(file) for file in self.world.all_files() if not file.is_folder and not file.is_shortcut
        }
        return {file_id: text for file_id, text in found.items() if text is not None}

    def truth(self) -> dict[str, dict[str, str]]:
        """By person, what they are to find."""
        world = self.world
        with world.lock:
            held = self.held()
            return {email: {each: held[each] for each in held if self._may_read(email, each)} for email in PEOPLE}

    def _is_known_who_reads(self, file: File) -> bool:
        """Editors are told who may read, unless one of the permissions is kept from every list."""
        is_kept_back = any(
            (file.id, each) in self.world.modes.hidden_permissions for each in self.world.standings(file.id)
        )
        return self.world.may(ROBOT, file.id, "writer") and not is_kept_back

    def _may_read(self, email: str, file_id: str) -> bool:
        return self.world.may_read(email, file_id, discoverable_as_everyone=self.everyone_finds)

    def described(self, file_id: str) -> str:
        """Where a file lies and what the robot may do with it, for people who look for a fault."""
        world = self.world
        with world.lock:
            if not world.exists(file_id):
                return f"{file_id}, which is gone"
            file = world.file(file_id)
            facts = {
                "in the trash": world.is_trashed(file_id),
                "in a shared drive": file.drive_id is not None,
                "with permissions kept back": any(each == file_id for each, _ in world.modes.hidden_permissions),
                f"where the robot is {world.role_of(ROBOT, file_id)}": True,
            }
            return ", ".join((file_id, world.path_of(file_id), *(fact for fact, is_so in facts.items() if is_so)))

    def lose_drive(self) -> None:
        """The robot is a member of the crew's drive no more."""
        self.world.unshare(self.crew, ROBOT)
        self.is_drive_lost = True

    def regain_drive(self) -> None:
        self.world.share(self.crew, ROBOT, self._robots_role)
        self.is_drive_lost = False

    @property
    def may_lose_drive(self) -> bool:
        """A drive with a folder that is followed by itself is not believed to be gone."""
        return not any(self.plans in wanted.folders for wanted in self.connectors)

    def _folder(self, name: str, owner: str) -> str:
        folder = self.world.add_folder(name, owner=owner).id
        for email in (ADA, BEN, ROBOT):
            self.world.share(folder, email, role="writer")
        return folder

    def _drive(self, name: str, organizer: str) -> str:
        drive = self.world.add_drive(name, organizer=organizer).id
        self.world.share(drive, ROBOT, self._robots_role)
        for email in {ADA, BEN} - {organizer}:
            self.world.share(drive, email, "fileOrganizer")
        return drive

    def _furnish(self) -> None:
        """From both that is followed a way leads to what lies elsewhere, deep enough for something to change above it."""
        for number, (top, place) in enumerate(
            ((self.annex, self.office), (self.club, self.office), (self.annex, self.crew))
        ):
            shelf = self.world.add_folder(f"Shelf {number}", parent=top).id
            box = self.world.add_folder(f"Box {number}", parent=shelf).id
            file = self.world.add_file(f"far {number}.txt", f"Text {number}, from afar.", parent=box).id
            self.world.add_shortcut("to a file", file, parent=place)
            if number:
                self.world.add_shortcut("to a folder", box, parent=place)

    def _connectors(self, seed: int) -> tuple[Wanted, ...]:
        """Two that overlap: by shortcuts alone, by a folder of both, or because one of them follows everything."""
        crew = Wanted("crew", drive_id=self.crew)
        match seed % 3:
            case 0:
                return (Wanted("office", folders=(self.office,)), crew)
            case 1:
                return (Wanted("office", folders=(self.office, self.plans)), crew)
            case _:
                return (Wanted("all"), crew)


def _text_of(file: File) -> str | None:
    if file.is_native:
        found = next((file.exports[each] for each in TEXTS if each in file.exports), None)
        return None if found is None else found.decode()
    return file.data.decode()
