"""Each code for which a document is withheld is told in words."""

import pytest

from activities.connectors.drive.documents import NOBODY
from activities.connectors.drive.grants import Denial
from workers.cli.denials import in_words


@pytest.mark.parametrize("code", [*Denial, NOBODY])
def test_every_reason_of_drive_has_words(code: str) -> None:
    assert in_words(str(code)) != code
