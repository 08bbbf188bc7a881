"""Who may read which file, from ``--grant``, from an access file, and from the connector's row."""

import unicodedata
from pathlib import Path

import pytest

from activities.connectors import AccessRule
from activities.connectors.access_rule import parse_grants
from headwater.connectors import GrantSet
from headwater.errors import ValidationError

YAML = """\
# the first match wins
- path: "hr/pay/**"
  grant: ["group:payroll", "user:ada"]
- {path: 'hr/**', grant: [group:hr]}
- path: "**/public.md"
  grant: [everyone]
- path: drafts/**
  grant: []
- path: "*.md"
  grant: ["user:ada", "everyone"]
"""

TOML = """\
# the first match wins
[[access]]
path = "hr/pay/**"
grant = ["group:payroll", "user:ada"]

[[access]]
path = "hr/**"
grant = ["group:hr"]

[[access]]
path = "**/public.md"
grant = ["everyone"]

[[access]]
path = "drafts/**"
grant = []

[[access]]
path = "*.md"
grant = ["user:ada", "everyone"]
"""


def written(folder: Path, name: str, text: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def refused(file: Path) -> str:
    with pytest.raises(ValidationError) as caught:
        AccessRule.from_file(file)
    message = str(caught.value)
    assert str(file) in message and "\n" not in message
    return message


@pytest.mark.parametrize(("name", "text"), [("a.yaml", YAML), ("a.yml", YAML), ("rules", YAML), ("a.toml", TOML)])
def test_the_first_rule_that_matches_decides(tmp_path: Path, name: str, text: str) -> None:
    rule = AccessRule.from_file(written(tmp_path, name, text))
    assert rule.grants_for("hr/pay/2024.md") == GrantSet(("ada",), ("payroll",))
    assert rule.grants_for("hr/public.md") == GrantSet(group_ids=("hr",))
    assert rule.grants_for("it/public.md") == GrantSet(everyone=True)
    assert rule.grants_for("drafts/x.md") == GrantSet()
    assert rule.grants_for("top.md") == GrantSet(("ada",), everyone=True)


def test_what_no_rule_matches_is_readable_by_nobody(tmp_path: Path) -> None:
    rule = AccessRule.from_file(written(tmp_path, "a.yaml", YAML))
    assert rule.grants_for("it/setup.md") == GrantSet()


@pytest.mark.parametrize(("name", "text"), [("a.yaml", "[]"), ("a.toml", "access = []")])
def test_no_rules_let_nobody_read_anything(tmp_path: Path, name: str, text: str) -> None:
    assert AccessRule.from_file(written(tmp_path, name, text)).grants_for("a.md") == GrantSet()


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    file = written(tmp_path, "a.yaml", b"\xef\xbb\xbf" + YAML.encode())
    assert AccessRule.from_file(file).grants_for("top.md").everyone


def test_grants_given_on_the_command_line_are_for_every_file() -> None:
    rule = AccessRule.from_grants(["user:ada", "group:hr", "group:eng", "user:ada"])
    assert rule.grants_for("any/file.md") == GrantSet(("ada",), ("eng", "hr"))


def test_a_name_is_everything_behind_the_first_colon() -> None:
    assert parse_grants(["group:domain:example.com", "user:Ada L"]) == GrantSet(("Ada L",), ("domain:example.com",))


def test_a_rule_spelled_by_an_editor_matches_a_file_named_by_macos() -> None:
    decomposed = unicodedata.normalize("NFD", "büro/plan.md")
    rule = AccessRule.from_json({"rules": [{"path": "büro/**", "grant": ["everyone"]}]})
    assert decomposed != "büro/plan.md"
    assert rule.grants_for(decomposed).everyone


def test_a_rule_survives_its_way_through_json(tmp_path: Path) -> None:
    rule = AccessRule.from_file(written(tmp_path, "a.yaml", YAML))
    assert AccessRule.from_json(rule.to_json()) == rule


@pytest.mark.parametrize(
    "stored",
    [{}, {"rules": None}, {"rules": [{"path": "**"}]}, {"rules": [{"path": 1, "grant": []}]}, {"rules": ["**"]}],
)
def test_a_damaged_stored_rule_is_refused(stored: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match="damaged"):
        AccessRule.from_json(stored)


@pytest.mark.parametrize(
    ("grant", "reason"),
    [
        ("ada", "must be user:NAME, group:NAME or everyone"),
        ("User:ada", "must be user:NAME"),
        ("Everyone", "must be user:NAME"),
        ("everyone:x", "must be user:NAME"),
        ("role:x", "must be user:NAME"),
        ("user:", "1 to 256 characters"),
        ("user:" + "x" * 257, "1 to 256 characters"),
        ("group:a\0b", "NUL"),
        ("group:\ud800", "surrogates"),
        ("user: ada", "space at an end"),
    ],
)
def test_a_bad_grant_is_refused(grant: str, reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        AccessRule.from_grants([grant])


def test_more_groups_than_a_reader_can_assert_are_refused() -> None:
    AccessRule.from_grants([f"group:{n}" for n in range(32)])
    with pytest.raises(ValidationError, match="too many"):
        AccessRule.from_grants([f"group:{n}" for n in range(33)])


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("- path: a\n  grants: [everyone]\n", 2, "unknown key 'grants'"),
        ("- path: a\n  grant: [everyone]\n- <<: {}\n", 3, "unknown key '<<'"),
        ("- path: a\n  path: b\n  grant: []\n", 2, "path stands twice"),
        ("- path: a\n", 1, "a rule without grant"),
        ("- grant: []\n", 1, "a rule without path"),
        ("- path: a\n  grant: everyone\n", 2, "grant must be a list"),
        ("- path: a\n  grant:\n  - everyone\n  - 7\n", 4, "a grant must be text"),
        ("- path: a\n  grant:\n  - everyone\n  - user: ada\n", 4, "a grant must be text"),
        ("- path: a\n  grant:\n  - everyone\n  - ada\n", 4, "'ada' must be user:NAME"),
        ("- path: 2024\n  grant: []\n", 1, "path must be text"),
        ("\n- path: hr/\n  grant: []\n", 2, "ends with a slash"),
        ("path: a\ngrant: []\n", 1, "must be a list of"),
        ("\n- everyone\n", 2, "a rule must be written"),
        ("- path: **\n  grant: []\n", 1, "quote a path that begins with a star"),
        ("- path: a\n  grant: [\n", 3, "not YAML"),
        ("- path: a\n  grant: []\n--- \n- x\n", 3, "not YAML"),
        ('- path: "a\\0b"\n  grant: []\n', 1, "NUL"),
        ("- path: a\n  grant: []\n# \x07\n", 3, "control character"),
        ("- path: !!python/name:os.system a\n  grant: []\n", 1, "path must be text"),
    ],
)
def test_a_fault_in_yaml_is_told_with_its_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    message = refused(written(tmp_path, "a.yaml", text))
    assert f"line {line}:" in message
    assert reason in message


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('[[access]]\npath = "a"\ngrants = []\n', 3, "unknown key 'grants'"),
        ('[[access]]\npath = "a"\ngrant = []\n[[access]]\npath = "b"\n"grants" = []\n', 6, "unknown key 'grants'"),
        ('[[access]]\npath = "a"\ngrant = []\n\n[other]\nx = 1\n', 5, "unknown key 'other'"),
        ("other = 1\n", 1, "unknown key 'other'"),
        ('[[access]]\npath = "a"\n', 1, "a rule without grant"),
        ("[[access]]\npath = 7\ngrant = []\n", 2, "path must be text"),
        ('[[access]]\npath = "a"\ngrant = "everyone"\n', 3, "grant must be a list"),
        ('[[access]]\npath = "a"\ngrant = ["ada"]\n', 3, "must be user:NAME"),
        ('[[access]]\ngrant = []\npath = "hr/"\n', 3, "ends with a slash"),
        ('[access]\npath = "a"\n', 1, "must be [[access]] tables"),
        ('# rules\naccess = [{path = "a", grants = []}]\n', 2, "unknown key 'grants'"),
        ("[[access]]\npath = \n", 2, "not TOML"),
    ],
)
def test_a_fault_in_toml_is_told_with_its_line(tmp_path: Path, text: str, line: int, reason: str) -> None:
    message = refused(written(tmp_path, "a.toml", text))
    assert f"line {line}:" in message
    assert reason in message


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.yaml", "", "holds no rules"),
        ("a.yaml", "# only a comment\n", "holds no rules"),
        ("a.toml", "", "holds no rules"),
        ("a.yaml", b"- path: caf\xe9\n", "line 1: not UTF-8"),
        ("a.yaml", "[" * 1000, "nested too deeply"),
        ("a.toml", "access = " + "[" * 5000, "nested too deeply"),
        ("a.yaml", " " * 300_000, "more than 256 KiB"),
        ("a.yaml", "- {path: a, grant: []}\n" * 1001, "line 1001: more than 1000 rules"),
    ],
)
def test_a_file_that_holds_no_rules_is_refused(tmp_path: Path, name: str, text: str | bytes, reason: str) -> None:
    assert reason in refused(written(tmp_path, name, text))


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "gone.yaml")
    assert "Is a directory" in refused(tmp_path)


def test_aliases_are_shared_and_not_multiplied(tmp_path: Path) -> None:
    text = "- {path: a, grant: &staff [group:hr]}\n- {path: b, grant: *staff}\n"
    rule = AccessRule.from_file(written(tmp_path, "a.yaml", text))
    assert rule.grants_for("b") == GrantSet(group_ids=("hr",))
    bomb = "- &a0 [x, x]\n" + "".join(f"- &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 100))
    assert "line 1: a rule must be written" in refused(written(tmp_path, "bomb.yaml", bomb))
