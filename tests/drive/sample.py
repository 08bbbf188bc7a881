"""A small office on the emulated Drive, to try a connector by hand."""

from dataclasses import dataclass

from tests.drive.clock import Clock
from tests.drive.world import World

DIRECTOR = "ada@example.test"
ENGINEER = "ben@example.test"
INTERN = "cleo@example.test"
ROBOT = "robot@project.example.test"


@dataclass(frozen=True)
class Sample:
    """The office, and those of its folders and drives that a connector would be pointed to."""

    world: World
    handbook_id: str
    """A folder of the director's My Drive, which the robot may edit: whoever may not is not shown who may read."""

    engineering_id: str
    """A shared drive, of which the robot is a member that may edit."""


def sample(*, follow_real_time: bool = True) -> Sample:
    """Three people, a robot, a folder with folders in it, and a shared drive."""
    world = World(clock=Clock(follow_real_time=follow_real_time))
    for email, name in ((DIRECTOR, "Ada"), (ENGINEER, "Ben"), (INTERN, "Cleo"), (ROBOT, "Robot")):
        world.add_user(email, name=name)
    world.add_group("staff@example.test", members=[DIRECTOR, ENGINEER, INTERN])
    return Sample(world, _handbook(world), _engineering(world))


def _handbook(world: World) -> str:
    handbook = world.add_folder("Handbook", owner=DIRECTOR).id
    world.share(handbook, ROBOT, role="writer")
    world.share(handbook, "staff@example.test", type="group")
    world.add_file("travel.md", "# Travel\n\nTrains are booked in first class.\n", parent=handbook, owner=DIRECTOR)
    world.add_document(
        "Holidays",
        {"text/markdown": "# Holidays\n\nEverybody has thirty days.\n", "text/plain": "Everybody has thirty days.\n"},
        parent=handbook,
        owner=DIRECTOR,
    )
    salaries = world.add_folder("Board", parent=handbook, owner=DIRECTOR)
    world.edit(salaries.id, inherited_permissions_disabled=True)
    world.share(salaries.id, ROBOT, role="writer")
    world.add_file("salaries.md", "# Salaries\n\nThe scale begins at four.\n", parent=salaries.id, owner=DIRECTOR)
    return handbook


def _engineering(world: World) -> str:
    drive = world.add_drive("Engineering", organizer=ENGINEER).id
    world.share(drive, ROBOT, role="writer")
    runbooks = world.add_folder("Runbooks", parent=drive)
    world.add_file("restart.md", "# Restart\n\nStop the pump before the valve.\n", parent=runbooks.id)
    world.add_file("secrets.md", "# Keys\n\nThe keys hang in the cellar.\n", parent=drive)
    return drive
