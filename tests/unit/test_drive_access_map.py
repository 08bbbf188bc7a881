"""Whom Drive's grantees are here, from ``--access-map`` and from the connector's row."""

from pathlib import Path
from typing import Any

import pytest

from activities.connectors.drive.access_map import AccessMap
from activities.connectors.drive.grants import DriveGrants, Grantee, GrantRules, read_grants
from headwater.connectors import GrantSet
from headwater.errors import ValidationError

YAML = """\
# Drive's groups are called otherwise here
- drive: "group:Eng@A.test"
  grant: ["group:engineering"]
- {drive: 'user:ada@a.test', grant: [user:u-17, "group:leads"]}
- {drive: domain-link:A.test, grant: ["group:domain:a.test"]}
- {drive: domain:b.test, grant: []}
- {drive: anyone-link, grant: [everyone]}
"""
TOML = """\
[[access]]
drive = "group:Eng@A.test"
grant = ["group:engineering"]

[[access]]
drive = "user:ada@a.test"
grant = ["user:u-17", "group:leads"]

[[access]]
drive = "domain-link:A.test"
grant = ["group:domain:a.test"]

[[access]]
drive = "domain:b.test"
grant = []

[[access]]
drive = "anyone-link"
grant = ["everyone"]
"""


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, "utf-8")
    return file


def refused(file: Path) -> str:
    with pytest.raises(ValidationError) as caught:
        AccessMap.from_file(file)
    message = str(caught.value)
    assert str(file) in message and "\n" not in message
    return message


@pytest.mark.parametrize(("name", "text"), [("map.yaml", YAML), ("map.toml", TOML)])
def test_a_grantee_in_the_table_gets_what_stands_there_and_any_other_the_default(
    tmp_path: Path, name: str, text: str
) -> None:
    table = AccessMap.from_file(written(tmp_path, name, text))
    assert table(Grantee("group", "eng@a.test")) == GrantSet(group_ids=("engineering",))
    assert table(Grantee("user", "ada@a.test")) == GrantSet(("u-17",), ("leads",))
    assert table(Grantee("domain", "a.test", is_link_only=True)) == GrantSet(group_ids=("domain:a.test",))
    assert table(Grantee("domain", "a.test")) is None
    assert table(Grantee("domain", "b.test")) == GrantSet()
    assert table(Grantee("anyone", is_link_only=True)) == GrantSet(everyone=True)
    assert table(Grantee("anyone")) is None
    assert table(Grantee("user", "eng@a.test")) is None


def test_the_table_decides_what_permissions_grant(tmp_path: Path) -> None:
    rules = GrantRules(map_grantee=AccessMap.from_file(written(tmp_path, "map.yaml", YAML)))
    permissions: list[dict[str, Any]] = [
        {"id": "1", "type": "user", "emailAddress": "ADA@a.test", "role": "owner"},
        {"id": "2", "type": "user", "emailAddress": "bob@a.test", "role": "reader"},
        {"id": "3", "type": "group", "emailAddress": "eng@a.test", "role": "reader"},
        {"id": "4", "type": "domain", "domain": "b.test", "role": "reader", "allowFileDiscovery": True},
    ]
    granted = read_grants({}, permissions, rules=rules)
    assert granted == DriveGrants(GrantSet(("bob@a.test", "u-17"), ("engineering", "leads")))


def test_a_table_survives_its_way_through_json(tmp_path: Path) -> None:
    table = AccessMap.from_file(written(tmp_path, "map.yaml", YAML))
    assert AccessMap.from_json(table.to_json()) == table


@pytest.mark.parametrize(
    "stored",
    [{}, {"map": None}, {"map": []}, {"map": {"anyone": 7}}, {"map": {"anyone": ["x"]}}, {"map": {"x": []}}],
)
def test_a_damaged_stored_table_is_refused(stored: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="damaged"):
        AccessMap.from_json(stored)


@pytest.mark.parametrize(
    ("name", "text", "line", "reason"),
    [
        ("m.yaml", "- drive: anyone\n  grants: []\n", 2, "unknown key 'grants'; a rule has drive and grant"),
        ("m.yaml", "- path: a\n  grant: []\n", 1, "unknown key 'path'"),
        ("m.yaml", "- drive: anyone\n", 1, "a rule without grant"),
        ("m.yaml", "- grant: []\n", 1, "a rule without drive"),
        ("m.yaml", "- drive: 7\n  grant: []\n", 1, "drive must be text"),
        ("m.yaml", "- everyone\n", 1, 'must be written {drive: "group:eng@a.test"'),
        ("m.yaml", "- drive: anyone\n  grant: [all]\n", 2, "must be user:NAME, group:NAME or everyone"),
        ("m.yaml", "- {drive: anyone, grant: []}\n- {drive: anyone, grant: []}\n", 2, "anyone stands twice"),
        (
            "m.yaml",
            "- {drive: 'user:A@a.test', grant: []}\n- {drive: 'user:a@a.test', grant: []}\n",
            2,
            "user:a@a.test stands twice",
        ),
        ("m.yaml", "- {drive: everyone, grant: []}\n", 1, "must be user:ADDRESS"),
        ("m.yaml", "- {drive: 'role:x', grant: []}\n", 1, "must be user:ADDRESS"),
        ("m.yaml", "- {drive: 'anyone:x', grant: []}\n", 1, "must be user:ADDRESS"),
        ("m.yaml", "- {drive: 'group:eng', grant: []}\n", 1, "must name an address"),
        ("m.yaml", "- {drive: 'user:', grant: []}\n", 1, "must name an address"),
        ("m.yaml", "- {drive: 'domain:x@a.test', grant: []}\n", 1, "must name a domain"),
        ("m.toml", '[[access]]\ndrive = "x"\ngrant = []\n', 2, "must be user:ADDRESS"),
        ("m.toml", '[[access]]\npath = "x"\ngrant = []\n', 2, "unknown key 'path'"),
    ],
)
def test_a_fault_is_told_with_its_line(tmp_path: Path, name: str, text: str, line: int, reason: str) -> None:
    message = refused(written(tmp_path, name, text))
    assert f"line {line}:" in message
    assert reason in message


def test_a_table_holds_thousands_of_grantees_and_no_more(tmp_path: Path) -> None:
    rule = '[[access]]\ndrive = "user:u{}@a.test"\ngrant = []\n'  # TOML: YAML takes its time
    text = "".join(rule.format(n) for n in range(4_096))
    assert len(AccessMap.from_file(written(tmp_path, "map.toml", text)).grants) == 4_096
    message = refused(written(tmp_path, "map.toml", text + rule.format("-last")))
    assert "line 12290: more than 4096 rules" in message
