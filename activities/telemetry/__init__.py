"""What the workers tell of indexing: a span for each source that is replaced, and below it one for its embedding.

`spans` says what a span is, `pages` and `batches` fill them from what publishing and embedding did. To whom they go is not
known here: a `Tell` takes them, and without one nothing is asked, measured or allocated.
"""

from activities.telemetry.batches import BatchSpans, batch_spans
from activities.telemetry.pages import PageSpans, page_spans, tell_unchanged
from activities.telemetry.spans import IndexSpan, SpanIds, Tell

__all__ = ["BatchSpans", "IndexSpan", "PageSpans", "SpanIds", "Tell", "batch_spans", "page_spans", "tell_unchanged"]
