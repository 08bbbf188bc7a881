"""Every field mask fits the discovery document, and a mask that does not is found before anything is asked."""

from urllib.parse import quote_plus

import pytest

from activities.connectors.drive.fields import FILE, MASKS, Mask, MaskError, check_masks
from activities.connectors.drive.service import discovery_document

DOCUMENT = discovery_document()
ADDRESS_MAX = 2_048  # Google's own client sends a longer one otherwise, so nobody knows whether Drive takes it


def test_all_masks_fit_the_discovery_document() -> None:
    check_masks(DOCUMENT)
    assert {mask.method for mask in MASKS} >= {"files.list", "changes.list", "permissions.list", "drives.list"}


@pytest.mark.parametrize(
    ("method", "fields", "says"),
    [
        ("files.get", "id,nmae", "asks for nmae, which"),
        ("files.list", "nextPageToken,incompleteSearch,files(id,nmae)", "asks for files.nmae, which"),
        ("files.get", "id,permissions(id,permissionDetails(type))", "permissions.permissionDetails.type"),
        ("files.get", "id(length)", "id.length"),
        ("files.list", "incompleteSearch,files(id)", "nextPageToken"),
        ("files.list", "nextPageToken,files(id)", "incompleteSearch"),
        ("files.list", "files(nextPageToken)", "files.nextPageToken"),
        ("changes.list", "nextPageToken,changes(fileId)", "newStartPageToken"),
        ("changes.list", "newStartPageToken,changes(fileId)", "nextPageToken"),
        ("permissions.list", "permissions(id)", "nextPageToken"),
        ("drives.list", "drives(id)", "nextPageToken"),
        ("files.vanish", "id", "no method files.vanish"),
        ("nothing.list", "id", "no method nothing.list"),
        ("files.delete", "id", "no method files.delete that answers"),
        ("files.get", "", "empty place"),
        ("files.get", "id,,name", "empty place"),
        ("files.get", "id,", "empty place"),
        ("files.get", "permissions()", "empty place"),
        ("files.get", "permissions(id", "open"),
        ("files.get", "id)", "too many"),
        ("files.get", "id name", "where a field should be"),
        ("files.get", "*", "where a field should be"),
        ("files.get", "id,name,id", "twice for id"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused_with_what_is_wrong(method: str, fields: str, says: str) -> None:
    with pytest.raises(MaskError) as raised:
        check_masks(DOCUMENT, (Mask(method, fields),))
    assert says in str(raised.value) and method in str(raised.value)


def test_no_call_with_a_mask_becomes_so_long_that_it_would_have_to_be_sent_otherwise() -> None:
    # A token of Drive's has a few hundred characters; ids and flags stay below 400.
    assert max(len(quote_plus(mask.fields)) for mask in MASKS) < ADDRESS_MAX - 1_000


def test_grants_are_asked_for_with_all_that_decides_about_them() -> None:
    decisive = {
        "type", "role", "emailAddress", "domain", "allowFileDiscovery", "expirationTime", "deleted", "pendingOwner", "view",
        "permissionDetails", "inherited", "inheritedPermissionsDisabled", "permissionIds",
    }  # fmt: skip
    assert decisive <= set(FILE.replace("(", ",").replace(")", ",").split(","))
