"""What travels between the workflows and their activities: one model in, one out.

Fields are added with defaults and never renamed: histories written last month must still replay.
"""

from activities.contracts.payload import Done, Payload
from activities.contracts.requests import BeginRequest, BegunRequest, EndRequest
from activities.contracts.sync import (
    AdvancedCheckpoint,
    BatchRef,
    BeginPass,
    BegunPass,
    EmbeddedBatch,
    EndedPass,
    EndPass,
    ListedPage,
    ListPage,
    PageRef,
    Pass,
    PreparedPage,
    PublishedPage,
)

__all__ = [
    "AdvancedCheckpoint",
    "BatchRef",
    "BeginPass",
    "BeginRequest",
    "BegunPass",
    "BegunRequest",
    "Done",
    "EmbeddedBatch",
    "EndPass",
    "EndRequest",
    "EndedPass",
    "ListPage",
    "ListedPage",
    "PageRef",
    "Pass",
    "Payload",
    "PreparedPage",
    "PublishedPage",
]
