"""``ReindexCorpus``: a second build, in another space, beside the one that readers see."""

from typing import Annotated, Literal

from pydantic import Field

from headwater.contracts.shared import Output, WorkflowInput


class ReindexCorpusInput(WorkflowInput):
    """Input of ``ReindexCorpus``. Without ``embedder``, ``chunker`` and ``language`` the first two are those a new corpus
    would get from the workers; where one is given, the others stay as the corpus has them. The language always does."""

    embedder: Annotated[str, Field(min_length=1, max_length=1_024)] | None = None
    chunker: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    language: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    retire_after_s: Annotated[int, Field(ge=0, le=366 * 86_400, strict=True)] | None = None


class ReindexCorpusResult(Output):
    """Output of ``ReindexCorpus``: the build that readers see now, and the generation that showed it first."""

    build: int
    generation: int
    sources: int
    chunks: int
    failed: int = 0
    embedded_chunks: int = 0
    reused_chunks: int = 0


class ReindexProgress(Output):
    """Answer of the query ``progress``."""

    phase: Literal["starting", "building", "indexing", "catching up", "flipping", "done", "aborted"] = "starting"
    build: int | None = None
    round: int = 0
    sources: int = 0  # staged so far
    chunks: int = 0
    embedded_chunks: int = 0
    reused_chunks: int = 0
    failed: int = 0
