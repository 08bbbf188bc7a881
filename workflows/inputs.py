"""Raw JSON in, a validated model out: what every public workflow does first.

A workflow whose argument had the model's type would fail its *task* on a missing field, and Temporal would retry that for
ever. Here the workflow itself fails, at once, with type `InvalidInput` and the field's name.
"""

from typing import Any, TypeVar

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    from pydantic import BaseModel, ValidationError

    from headwater.errors import ScopeError

Model = TypeVar("Model", bound=BaseModel)


def parse_input(model: type[Model], raw: Any) -> Model:
    """``raw`` as ``model``, or the workflow fails with `InvalidInput`."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "input"
        why = first["msg"].removeprefix("Value error, ").rstrip(".")
        # Another tenant's corpus is no mistake of form: whoever asks is told what it is.
        is_foreign = isinstance(first.get("ctx", {}).get("error"), ScopeError)
        kind = "ScopeError" if is_foreign else "InvalidInput"
        raise ApplicationError(f"{where}: {why}; correct it and start again.", type=kind, non_retryable=True) from None
