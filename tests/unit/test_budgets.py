"""The times that things may take fit into one another: what is begun last is over before somebody believes it dead."""

import inspect

from activities.connectors.drive.content import DOCUMENT_S
from activities.connectors.drive.drive import PAGE_S
from activities.connectors.drive.export import PREPARED_WITHIN_S
from activities.connectors.drive.patience import SLOW_S
from activities.connectors.drive.service import ANSWER_S, TIMEOUT_S
from activities.list_page import LISTING_S
from activities.parsers.pool import ParserPool
from activities.prepare_page import ATTEMPT_S, IN_FLIGHT, RENEWED_EVERY_S
from activities.store.pages.lease import LEASE_S
from workflows.policies import POLICIES

PARSING_S = float(inspect.signature(ParserPool).parameters["wall_s"].default)
# A document, a last call that says nothing, the question whether Drive is well; then all are parsed one after the other.
GROUP_S = DOCUMENT_S + 2 * TIMEOUT_S + IN_FLIGHT * PARSING_S


def test_documents_that_are_read_last_are_read_before_the_attempt_is_given_up() -> None:
    assert ATTEMPT_S + GROUP_S < POLICIES["prepare_page"].start_to_close.total_seconds()


def test_the_lease_is_renewed_while_documents_are_read() -> None:
    assert 2 * RENEWED_EVERY_S < LEASE_S


def test_no_way_to_a_document_takes_longer_than_the_document_may() -> None:
    assert PREPARED_WITHIN_S < DOCUMENT_S < ANSWER_S


def test_a_page_at_whose_last_item_drive_hangs_is_over_before_it_is_given_up_and_before_the_lease_ends() -> None:
    # Begun in the last moment; a last call that says nothing, the question whether Drive is well, the page before it.
    longest_s = LISTING_S + PAGE_S + SLOW_S + 2 * TIMEOUT_S + LISTING_S
    assert longest_s < POLICIES["list_page"].start_to_close.total_seconds() < LEASE_S
