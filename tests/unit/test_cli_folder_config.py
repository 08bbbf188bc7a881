"""What a connector's row keeps, and what a sync changes in it."""

from typing import Any

import pytest

from activities.connectors.access_rule import AccessRule
from headwater.models import Scope
from workers.cli.folder_request import FolderRequest, config_of

SCOPE = Scope(tenant_id="t1", resource_id="docs", corpus_id="handbook")
RULE = AccessRule.from_grants(["group:staff"])
STORED = {
    "root": "/srv/docs",
    "access": AccessRule.from_grants(["user:alice"]).to_json(),
    "access_file": "/srv/docs/access.yml",
}


def request(root: str = "/srv/docs", rule: AccessRule | None = None, access_file: str | None = None) -> FolderRequest:
    return FolderRequest(scope=SCOPE, root=root, name=None, rule=rule, access_file=access_file, full=False)


def test_a_new_folder_keeps_what_was_given() -> None:
    given = config_of(request(rule=RULE, access_file="/etc/access.yml"), None)
    assert given == {"root": "/srv/docs", "access": RULE.to_json(), "access_file": "/etc/access.yml"}
    assert config_of(request(), None) == {"root": "/srv/docs", "access": None, "access_file": None}


def test_without_a_new_rule_nothing_changes() -> None:
    assert config_of(request(), STORED) == STORED


def test_an_access_file_stays_one_when_grants_replace_its_rules() -> None:
    """It would be indexed as a document, for all who are granted."""
    assert config_of(request(rule=RULE), STORED) == STORED | {"access": RULE.to_json()}


def test_a_new_access_file_takes_the_old_ones_place() -> None:
    changed = config_of(request(rule=RULE, access_file="/etc/access.yml"), STORED)
    assert changed == STORED | {"access": RULE.to_json(), "access_file": "/etc/access.yml"}


@pytest.mark.parametrize(
    ("access_file", "after"),
    [
        ("/srv/docs/rules/access.yml", "/new/docs/rules/access.yml"),
        ("/srv/docs-rules/access.yml", "/srv/docs-rules/access.yml"),
        (None, None),
    ],
    ids=["below the root", "beside the root", "none"],
)
def test_an_access_file_below_the_root_moves_with_it(access_file: str | None, after: str | None) -> None:
    stored: dict[str, Any] = STORED | {"access_file": access_file}
    assert config_of(request("/new/docs"), stored) == stored | {"root": "/new/docs", "access_file": after}
