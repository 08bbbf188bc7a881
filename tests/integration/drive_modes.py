"""Drives that differ in what Google's documents leave open: what holds must hold in each of them.

All combinations would be thousands. Faults hide in single settings and in pairs of them, so `OPEN_MODES` is a few
combinations in which every pair of settings occurs. The first is the Drive of the documents, in which all other tests live;
the second is otherwise in all that can be otherwise, and is tried at every run. The rest is for the long tests.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

import pytest

from tests.drive.modes import Modes
from tests.integration.drive_corpus import peopled, shared_folder

SETTINGS: Final[Mapping[str, Sequence[Any]]] = {
    "coalesce_changes": (True, False),
    "change_states": ("current", "then"),
    "descendants_on_move": (False, True),
    "descendants_on_trash": (False, True),
    "descendants_on_access": (False, True),
    "drive_items_in_user_log": ("used", "always", "never"),
    "lost_drive_status": (404, 403),
    "duplicate_across_pages": (False, True),
    "empty_pages": (False, True),
    "page_cap": (None, 3),
    "newest_first": (False, True),
    "omit_permissions": (False, True),
    "or_parents_finds_nothing": (False, True),
    "byte_order_mark": (True, False),
}
"""What is open, the documents' reading first. What only goes wrong now and then is no setting: tests turn that on."""


class OpenOffice:
    """Ada's folder, which the connector reads and the ``readers``, in a Drive as it may be."""

    def __init__(self, modes: Modes, *readers: str) -> None:
        self.world = peopled()
        self.world.modes = copied(modes)
        self.folder = shared_folder(self.world)
        for reader in readers:
            self.world.share(self.folder, reader)


Choice = tuple[Any, ...]
Pair = tuple[tuple[str, Any], tuple[str, Any]]


def _choices() -> Iterator[Choice]:
    """Combinations in which every pair of settings occurs; of those possible next, the one with the most new pairs."""
    wanted = {
        ((one, a), (two, b)) for one, two in combinations(SETTINGS, 2) for a in SETTINGS[one] for b in SETTINGS[two]
    }
    for choice in (tuple(values[0] for values in SETTINGS.values()), tuple(values[1] for values in SETTINGS.values())):
        wanted -= _pairs(choice)
        yield choice
    while wanted:
        choice = _completed(min(wanted, key=repr), wanted)
        wanted -= _pairs(choice)
        yield choice


def _completed(pair: Pair, wanted: set[Pair]) -> Choice:
    chosen = dict(pair)
    for name, values in SETTINGS.items():
        if name not in chosen:
            gains = [sum(_pair((name, value), each) in wanted for each in chosen.items()) for value in values]
            chosen[name] = values[gains.index(max(gains))]
    return tuple(chosen[name] for name in SETTINGS)


def _pairs(choice: Choice) -> set[Pair]:
    return set(combinations(zip(SETTINGS, choice, strict=True), 2))


def _pair(one: tuple[str, Any], two: tuple[str, Any]) -> Pair:
    order = list(SETTINGS)
    return (one, two) if order.index(one[0]) < order.index(two[0]) else (two, one)


def _named(choice: Choice) -> str:
    """The settings that are not the documents'."""
    others = [
        f"{name}={value}" for (name, values), value in zip(SETTINGS.items(), choice, strict=True) if value != values[0]
    ]
    return "otherwise" if len(others) == len(SETTINGS) else ",".join(others) or "documented"


def _params() -> Iterator[Any]:
    for number, choice in enumerate(_choices()):
        modes = Modes(**dict(zip(SETTINGS, choice, strict=True)))
        yield pytest.param(modes, id=_named(choice), marks=[] if number == 1 else [pytest.mark.long])


OPEN_MODES: Final = list(_params())

in_every_mode = pytest.mark.parametrize("modes", OPEN_MODES)
"""A test, or a fixture's tests, once in each of them. Copy what is given: tests turn switches."""

in_two_modes = pytest.mark.parametrize("modes", OPEN_MODES[:2])
"""What is dear and has little to do with them: in the documents' Drive, and in the one that is otherwise."""


def copied(modes: Modes) -> Modes:
    """The same modes for one test alone."""
    return replace(modes, hidden_permissions=set(modes.hidden_permissions))


__all__ = ["OPEN_MODES", "SETTINGS", "copied", "in_every_mode", "in_two_modes"]
