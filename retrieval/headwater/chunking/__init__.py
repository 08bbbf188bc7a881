"""Cutting texts into passages: for hosts `chunk_text` and `chunk_markdown`, for the pipeline `profile.ChunkingProfile`."""

from headwater.chunking.chunks import Chunk, chunk_markdown, chunk_text
from headwater.chunking.headings import Heading, atx_headings

__all__ = ["Chunk", "Heading", "atx_headings", "chunk_markdown", "chunk_text"]
