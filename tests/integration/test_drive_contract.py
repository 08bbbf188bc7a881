"""Drive keeps the contract of connectors, in each of the ways in which it can be asked for."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from activities.connectors import make_connector
from activities.connectors.drive.drive import Drive
from headwater.connectors import Connector
from headwater.errors import ValidationError
from headwater.testing import check_connector
from tests.integration.drive_follower import ADA, BEN, ROBOT, Follower, following, peopled


@dataclass
class DriveCorpus:
    """The documents of one folder of the emulated Drive."""

    follower: Follower
    folder: str
    files: dict[str, str] = field(default_factory=dict)

    def connect(self) -> Connector:
        return self.follower.connect()

    def put(self, name: str, data: bytes) -> None:
        if name in self.files:
            self.follower.world.write(self.files[name], data)
        else:
            self.files[name] = self.follower.world.add_file(name, data, parent=self.folder).id

    def remove(self, name: str) -> None:
        self.follower.world.trash(self.files.pop(name))


@pytest.mark.parametrize("scope", ["folder", "account", "shared drive"])
def test_drive_keeps_the_contract(scope: str, tmp_path: Path) -> None:
    world = peopled()
    if scope == "shared drive":
        folder = world.add_drive("Team", organizer=BEN).id
        world.share(folder, ROBOT, role="fileOrganizer")
    else:
        folder = world.add_folder("Office", owner=ADA).id
        world.share(folder, ROBOT, role="writer")
    wanted: dict[str, dict[str, Any]] = {"folder": {"folder_ids": [folder]}, "shared drive": {"drive_id": folder}}
    with following(tmp_path, world, **wanted.get(scope, {})) as follower:
        check_connector(DriveCorpus(follower, folder), memory=follower.memory)


def test_a_row_of_the_kind_drive_makes_one() -> None:
    made = make_connector("drive", {"folder_ids": ["1AbC-_"], "credentials": "/keys/robot.json"}, name="office")

    assert isinstance(made, Drive)
    assert made.kind == "drive"


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"folder_ids": ["https://drive.google.com/drive/folders/1AbC"]}, "what follows folders/"),
        ({"drive_id": "a b"}, "no id of Drive"),
        ({"colour": "red"}, "colour"),
        ({"credentials": "robot.json"}, "absolute path"),
        ({"root_url": "http://example.com/"}, "root URL"),
        ({"subject": "ada"}, "no address"),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(config: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told) as refused:
        make_connector("drive", config, name="office")
    assert "\n" not in str(refused.value)
