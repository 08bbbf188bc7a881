"""Labels of sensitivity, lowest first. What says nothing is internal; what is not understood is kept as restricted."""

from collections.abc import Iterable
from typing import Final

from headwater.errors import ValidationError

SENSITIVITIES: Final = ("public", "internal", "confidential", "restricted")
INTERNAL: Final = SENSITIVITIES.index("internal")
RESTRICTED: Final = SENSITIVITIES.index("restricted")
UNRESTRICTED: Final = tuple(range(RESTRICTED))


def sensitivity_level(label: str | None) -> int:
    """The place of ``label`` in `SENSITIVITIES`, whatever its case and the spaces around it."""
    if label is None:
        return INTERNAL
    name = label.strip().casefold()
    return SENSITIVITIES.index(name) if name in SENSITIVITIES else RESTRICTED


def allowed_levels(labels: Iterable[str], field: str) -> tuple[int, ...]:
    """The places of the labels that somebody allows. Here one that is not understood is an error: it would allow the worst."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise ValidationError(f"{field} must be several labels of {', '.join(SENSITIVITIES)}: a list, also of one.")
    return tuple(sorted({_level(label, field) for label in labels}))


def _level(label: object, field: str) -> int:
    name = label.strip().casefold() if isinstance(label, str) else None
    if name not in SENSITIVITIES:
        said = repr(label[:40]) if isinstance(label, str) else type(label).__name__
        raise ValidationError(f"{field} holds {said}, which is none of {', '.join(SENSITIVITIES)}.")
    return SENSITIVITIES.index(name)
