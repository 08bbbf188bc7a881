"""The lists that say what is installed agree with each other and with what the code imports."""

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import distribution, packages_distributions
from itertools import chain
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CHECKOUT: Final = Path(__file__).parent.parent.parent
OUR_PACKAGES: Final = {"workers", "workflows", "activities", "headwater", "tests", "deploy"}


def project(path: str) -> dict[str, Any]:
    return tomllib.loads((CHECKOUT / path).read_text("utf-8"))


APPLICATION: Final = project("pyproject.toml")
LIBRARY: Final = project("retrieval/pyproject.toml")


def names(requirements: Iterable[str]) -> set[str]:
    """The distributions that these requirements name, those behind an extra (`psycopg[pool]`) included."""
    found: set[str] = set()
    for requirement in map(Requirement, requirements):
        found.add(canonicalize_name(requirement.name))
        for line in distribution(requirement.name).requires or []:
            further = Requirement(line)
            if further.marker and any(further.marker.evaluate({"extra": extra}) for extra in requirement.extras):
                found.add(canonicalize_name(further.name))
    return found


def all_of_library() -> list[str]:
    """The library's requirements with those of all its extras."""
    return [*LIBRARY["project"]["dependencies"], *chain(*LIBRARY["project"]["optional-dependencies"].values())]


def test_the_application_requires_all_that_the_library_does() -> None:
    of_library = all_of_library()
    of_application = set(APPLICATION["project"]["dependencies"])

    assert [requirement for requirement in of_library if requirement not in of_application] == []


def test_both_distributions_have_one_version_licence_and_build() -> None:
    for key in ("version", "license", "requires-python"):
        assert APPLICATION["project"][key] == LIBRARY["project"][key]
    assert APPLICATION["build-system"] == LIBRARY["build-system"]
    assert (CHECKOUT / "LICENSE").read_bytes() == (CHECKOUT / "retrieval/LICENSE").read_bytes()


def test_the_constraints_pin_exactly_what_an_installation_with_all_tools_brings() -> None:
    lines = (CHECKOUT / "constraints.txt").read_text("utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    wanted = [
        *APPLICATION["project"]["dependencies"],
        *APPLICATION["project"]["optional-dependencies"]["dev"],
        *APPLICATION["build-system"]["requires"],
    ]

    assert set(pinned) == set(closure(wanted))


def test_each_constraint_is_a_name_and_a_number() -> None:
    for line in (CHECKOUT / "constraints.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            requirement = Requirement(line)
            assert line == f"{canonicalize_name(requirement.name)}{requirement.specifier}"
            assert [specifier.operator for specifier in requirement.specifier] == ["=="]


def test_whatever_the_application_imports_is_required() -> None:
    roots = [CHECKOUT / root for root in ("workers", "workflows", "activities", "retrieval/headwater")]

    assert undeclared(roots, APPLICATION["project"]["dependencies"]) == {}


def test_whatever_the_library_imports_is_required() -> None:
    assert undeclared([CHECKOUT / "retrieval/headwater"], all_of_library()) == {}


def test_whatever_the_tests_import_is_required() -> None:
    requirements = [
        *APPLICATION["project"]["dependencies"],
        *APPLICATION["project"]["optional-dependencies"]["dev"],
        "packaging",  # pytest requires it itself
    ]

    assert undeclared([CHECKOUT / "tests"], requirements) == {}


@cache
def by_package() -> Mapping[str, list[str]]:
    return packages_distributions()


def undeclared(roots: Iterable[Path], requirements: Iterable[str]) -> dict[str, str]:
    """Imported packages that no requirement brings, each with a file that imports it."""
    known = names(requirements)
    distributions = by_package()
    found = {}
    for root in roots:
        for file in root.rglob("*.py"):
            for package in imported(file):
                of_package = {canonicalize_name(name) for name in distributions.get(package, [])}
                if package not in sys.stdlib_module_names | OUR_PACKAGES and not of_package & known:
                    found[package] = str(file.relative_to(CHECKOUT))
    return found


def imported(file: Path) -> Iterator[str]:
    """The top-level names of everything that a file imports, wherever it does."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module.partition(".")[0]


def closure(requirements: Iterable[str]) -> Iterator[str]:
    """The names of these requirements and of all that they require, as installed here."""
    waiting = [Requirement(requirement) for requirement in requirements]
    seen = set()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        yield key[0]
        for line in distribution(key[0]).requires or []:
            further = Requirement(line)
            if further.marker is None or any(
                further.marker.evaluate({"extra": extra}) for extra in {"", *requirement.extras}
            ):
                waiting.append(further)
