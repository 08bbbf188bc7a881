"""The Drive of the demo: a part of the sample handbook as the people of Tarnfield Instruments would keep it in theirs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.drive.clock import Clock
from tests.drive.world import World

SAMPLES: Final = Path(__file__).parent.parent / "samples/handbook"
INES, MARA, AGNES = (f"{name}@tarnfield.test" for name in ("ines", "mara", "agnes"))
STAFF: Final = "staff@tarnfield.test"
ROBOT: Final = "robot@headwater.test"
TO_EVERYBODY: Final = (
    "people/bicycle-scheme.txt", "people/career-levels.md", "people/expenses.md", "people/remote-work.html",
    "offices/ghent.md", "offices/leith.md", "offices/大阪オフィス案内.md",
)  # fmt: skip
TO_FEW: Final = ("hr/pay-bands.md", "hr/grievance-casework.md")


@dataclass(frozen=True)
class DriveOffice:
    """The world, and what of it the demo talks about. All belongs to ines."""

    world: World
    handbook: str
    """The folder that the connector is pointed to."""

    files: dict[str, str]
    """Documents and folders by their paths in the handbook."""

    elsewhere: str
    """A folder of ines's that nobody else sees."""

    def tree(self) -> list[str]:
        """Everything in the handbook, a line each, with those who may read it."""
        return ["Handbook", *self._below(self.handbook, depth=1)]

    def _below(self, folder: str, *, depth: int) -> list[str]:
        lines = []
        for file in sorted(self.world.children_of(folder), key=lambda file: file.name):
            readers = sorted(reader.partition("@")[0] for reader in self.world.readers_of(file.id) - {ROBOT})
            indented = "   " * depth + file.name
            lines.append(indented if file.is_folder else f"{indented:<32} {', '.join(readers)}")
            lines += self._below(file.id, depth=depth + 1)
        return lines


def drive_office() -> DriveOffice:
    """A folder for all of the staff, with a folder in it that agnes alone may read, and a Google document."""
    # Databases compare times with their own clock.
    world = World(clock=Clock(follow_real_time=True))
    for person in (INES, MARA, AGNES):
        world.add_user(person)
    world.add_user(ROBOT)
    world.add_group(STAFF, members=[INES, MARA, AGNES])
    handbook = world.add_folder("Handbook", owner=INES).id
    world.share(handbook, STAFF, type="group")
    world.share(handbook, ROBOT, role="writer")
    files = {name: world.add_folder(name, parent=handbook, owner=INES).id for name in ("people", "offices", "hr")}
    world.edit(files["hr"], inherited_permissions_disabled=True)
    world.share(files["hr"], ROBOT, role="writer")
    world.share(files["hr"], AGNES)
    for path in (*TO_EVERYBODY, *TO_FEW):
        folder, name = path.split("/")
        files[path] = world.add_file(name, (SAMPLES / path).read_bytes(), parent=files[folder], owner=INES).id
    leave = (SAMPLES / "people/leave.md").read_text("utf-8")
    files["people/Leave"] = world.add_document(
        "Leave", {"text/markdown": leave, "text/plain": leave}, parent=files["people"], owner=INES
    ).id
    return DriveOffice(world, handbook, files, world.add_folder("Old things", owner=INES).id)
