"""One activity in a process of its own, which a document or a passage of a test's choice kills."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence

from activities.contracts import Pass
from activities.store import Store
from tests.pipeline.by_hand import ByHand, InlineParser
from tests.pipeline.heard_embedder import HeardEmbedder


def dies_at(fatal: str, step: str, dsn: str, in_pass: Pass, page_id: int) -> bool:
    """Whether the process was killed while it did ``step`` (``prepare`` or ``embed``), by a text that holds ``fatal``."""
    command = [sys.executable, "-m", "tests.pipeline.dying_step", fatal, step, dsn, in_pass.model_dump_json()]
    status = subprocess.run([*command, str(page_id)], check=False).returncode
    assert status in (0, -signal.SIGKILL), f"the process ended with {status}"
    return status == -signal.SIGKILL


def _main(fatal: str, step: str, dsn: str, in_pass: str, page_id: str) -> None:
    def read(text: str) -> None:
        if fatal in text:
            os.kill(os.getpid(), signal.SIGKILL)

    def embed(texts: Sequence[str]) -> None:
        for text in texts:
            read(text)

    with Store.open(dsn) as store:
        hand = ByHand(store, resolve=lambda spec: HeardEmbedder(spec, embed), parser=InlineParser(read))
        steps: dict[str, Callable[[Pass, int], object]] = {"prepare": hand.prepare, "embed": hand.embed}
        steps[step](Pass.model_validate_json(in_pass), int(page_id))


if __name__ == "__main__":
    _main(*sys.argv[1:])
