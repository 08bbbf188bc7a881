"""Labels of sensitivity, lowest first. What says nothing is internal; what is not understood is kept as restricted."""

from typing import Final

SENSITIVITIES: Final = ("public", "internal", "confidential", "restricted")
INTERNAL: Final = SENSITIVITIES.index("internal")
RESTRICTED: Final = SENSITIVITIES.index("restricted")


def sensitivity_level(label: str | None) -> int:
    """The place of ``label`` in `SENSITIVITIES`, whatever its case and the spaces around it."""
    if label is None:
        return INTERNAL
    name = label.strip().casefold()
    return SENSITIVITIES.index(name) if name in SENSITIVITIES else RESTRICTED
