"""The table of timeouts and retries."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import activities
import headwater
from activities.store import DuplicateRow
from headwater.connectors import DocumentGone, DocumentRefused, DocumentTooLarge
from headwater.errors import HeadwaterError, TransientError
from workflows.policies import PERMANENT, POLICIES

# Made the state of one document, or retried a bounded number of times; so are all kinds of them.
HANDLED = (DocumentGone, DocumentRefused, DocumentTooLarge, DuplicateRow)


def subclasses(error: type[HeadwaterError]) -> Iterator[type[HeadwaterError]]:
    yield error
    for child in error.__subclasses__():
        yield from subclasses(child)


def test_no_permanent_error_is_retried() -> None:
    # A class that nobody has imported is no subclass yet.
    for package in (activities, headwater):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    raised_by_activities = {
        error
        for error in subclasses(HeadwaterError)
        if error.__module__.split(".")[0] in {"activities", "headwater"} and not issubclass(error, TransientError)
    }
    names = {error.__name__ for error in raised_by_activities if not issubclass(error, HANDLED)}
    assert names <= set(PERMANENT), names - set(PERMANENT)


def test_no_transient_error_is_given_up() -> None:
    assert not {error.__name__ for error in subclasses(TransientError)} & set(PERMANENT)


def test_what_runs_for_long_heartbeats() -> None:
    for name, policy in POLICIES.items():
        if policy.start_to_close.total_seconds() > 30:
            assert policy.heartbeat is not None, name
