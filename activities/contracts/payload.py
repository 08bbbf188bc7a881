"""The base of everything that travels between a workflow and its activities."""

from pydantic import BaseModel, ConfigDict


class Payload(BaseModel):
    """Ids and counts; text and vectors stay in Postgres. Unknown fields are ignored, so that versions can meet."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Done(Payload):
    """There is nothing to tell."""
