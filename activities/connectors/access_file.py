"""The access file as written: its entries with their lines, and one sentence with the line for whatever is wrong.

YAML: a list of ``{path: "hr/**", grant: ["group:hr"]}``. TOML: ``[[access]]`` tables with the same keys. A file whose
rules are about something else than paths has another key in place of ``path``.
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from headwater.errors import ValidationError

BYTES_MAX: Final = 256 * 1024  # PyYAML reads about 200 KB a second
ENTRIES_MAX: Final = 1000

_TOML_LINE: Final = re.compile(r"line (\d+)")
_TOML_TABLE: Final = re.compile(r"\s*\[\[\s*[\"']?access[\"']?\s*\]\]")


@dataclass(frozen=True, slots=True)
class RawEntry:
    """One rule as written, each grant with its line, and the line where the rule's subject stands."""

    subject: str
    grants: list[tuple[str, int]]
    line: int


@dataclass(frozen=True, slots=True)
class Grammar:
    """What the rules of a file are about: the key of their subject, a rule as it should be, and how many there may be."""

    key: str = "path"
    example: str = '{path: "hr/**", grant: ["group:hr"]}'
    entries_max: int = ENTRIES_MAX
    hint: str = "quote a path that begins with a star"


PATHS: Final = Grammar()


class _Refused(Exception):
    def __init__(self, line: int | None, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def read_access_file(path: Path, grammar: Grammar = PATHS) -> list[RawEntry]:
    """The entries in order. TOML if the name ends with ``.toml``, else YAML."""
    text = _text(path)
    read = _read_toml if path.suffix.lower() == ".toml" else _read_yaml
    try:
        entries = read(text, grammar)
        if len(entries) > grammar.entries_max:
            raise _Refused(entries[grammar.entries_max].line, f"more than {grammar.entries_max} rules.")
    except _Refused as refused:
        line = f", line {refused.line}" if refused.line else ""
        raise ValidationError(f"{path}{line}: {refused}") from None
    except RecursionError:
        raise ValidationError(f"{path}: lists are nested too deeply; write a list of {grammar.example}.") from None
    return entries


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise ValidationError(f"The access file {path} cannot be read: {error.strerror}.") from error
    if len(data) > BYTES_MAX:
        raise ValidationError(f"The access file {path} has more than {BYTES_MAX // 1024} KiB.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValidationError(f"{path}, line {line}: not UTF-8; save the file as UTF-8.") from None


def _read_yaml(text: str, grammar: Grammar) -> list[RawEntry]:
    """Composed to nodes, never constructed: nodes know their lines, and aliases are shared, not multiplied."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _Refused(mark.line + 1 if mark else None, f"not YAML: {error.problem}; {grammar.hint}.") from None
    except yaml.reader.ReaderError as error:
        raise _Refused(text.count("\n", 0, error.position) + 1, "a control character; remove it.") from None
    if root is None:
        raise _Refused(None, "the file holds no rules; write [] to let nobody read anything.")
    if not isinstance(root, yaml.SequenceNode):
        raise _Refused(_line(root), f"must be a list of {grammar.example}.")
    return [_yaml_entry(node, grammar) for node in root.value]


def _yaml_entry(node: yaml.Node, grammar: Grammar) -> RawEntry:
    if not isinstance(node, yaml.MappingNode):
        raise _Refused(_line(node), f"a rule must be written {grammar.example}.")
    keys = (grammar.key, "grant")
    found: dict[str, yaml.Node] = {}
    for key, value in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else "?"
        if name not in keys:
            raise _Refused(_line(key), f"unknown key {name[:80]!r}; a rule has {grammar.key} and grant.")
        if name in found:
            raise _Refused(_line(key), f"{name} stands twice in one rule.")
        found[name] = value
    for name in keys:
        if name not in found:
            raise _Refused(_line(node), f"a rule without {name}; write {grammar.example}.")
    grant = found["grant"]
    if not isinstance(grant, yaml.SequenceNode):
        raise _Refused(_line(grant), 'grant must be a list such as ["user:a", "group:hr", "everyone"].')
    return RawEntry(
        _yaml_text(found[grammar.key], grammar.key),
        [(_yaml_text(item, "a grant"), _line(item)) for item in grant.value],
        _line(found[grammar.key]),
    )


def _yaml_text(node: yaml.Node, what: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or node.tag != "tag:yaml.org,2002:str":
        raise _Refused(_line(node), f"{what} must be text; put it in quotes.")
    return str(node.value)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _read_toml(text: str, grammar: Grammar) -> list[RawEntry]:
    """tomllib keeps no positions, so lines are looked up in the text, and only to say where."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _TOML_LINE.search(str(error))
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise _Refused(int(found[1]) if found else None, f"not TOML: {reason}.") from None
    lines = text.splitlines()
    for key in document:
        if key != "access":
            raise _Refused(_find(lines, 0, _names(key)), f"unknown key {key[:80]!r}; rules are [[access]] tables.")
    rules = document.get("access")
    if rules is None:
        raise _Refused(None, "the file holds no rules; write access = [] to let nobody read anything.")
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise _Refused(
            _find(lines, 0, _names("access")), f"access must be [[access]] tables with {grammar.key} and grant."
        )
    headers = [number for number, line in enumerate(lines) if _TOML_TABLE.match(line)]
    inline = _find(lines, 0, _names("access")) or 1
    starts = headers if len(headers) == len(rules) else [inline - 1] * len(rules)
    return [_toml_entry(rule, lines, start, grammar) for rule, start in zip(rules, starts, strict=True)]


def _toml_entry(rule: dict[str, Any], lines: list[str], start: int, grammar: Grammar) -> RawEntry:
    keys = (grammar.key, "grant")

    def line_of(key: str) -> int:
        return _find(lines, start, _names(key)) or start + 1

    for key in rule:
        if key not in keys:
            raise _Refused(line_of(key), f"unknown key {key[:80]!r}; a rule has {grammar.key} and grant.")
    for key in keys:
        if key not in rule:
            raise _Refused(start + 1, f"a rule without {key}.")
    subject, grant = rule[grammar.key], rule["grant"]
    if not isinstance(subject, str):
        raise _Refused(line_of(grammar.key), f"{grammar.key} must be text; put it in quotes.")
    if not isinstance(grant, list) or not all(isinstance(item, str) for item in grant):
        raise _Refused(line_of("grant"), 'grant must be a list such as ["user:a", "group:hr", "everyone"].')
    return RawEntry(subject, [(item, line_of("grant")) for item in grant], line_of(grammar.key))


def _names(key: str) -> Callable[[str], bool]:
    pattern = re.compile(rf"""[\s\[{{,]*["']?{re.escape(key)}["']?\s*[\].=]""")
    return lambda line: bool(pattern.match(line))


def _find(lines: list[str], start: int, wanted: Callable[[str], bool]) -> int | None:
    """The number, from 1, of the first line from ``start`` on that ``wanted`` accepts."""
    return next((start + n for n, line in enumerate(lines[start:], 1) if wanted(line)), None)
