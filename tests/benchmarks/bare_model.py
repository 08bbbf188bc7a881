"""A process that embeds the texts it reads from stdin, a JSON array, and prints the CPU seconds that took."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from time import process_time

from activities.embed_batch import CALL_TEXTS
from headwater.embedders import resolve_embedder


def main(spec: str) -> None:
    texts = json.load(sys.stdin)
    embedder = resolve_embedder(spec)
    embedder.embed(texts[-4:])
    calls = [texts[first : first + CALL_TEXTS] for first in range(0, len(texts), CALL_TEXTS)]
    with ThreadPoolExecutor(os.cpu_count()) as slots:
        before = process_time()
        for _ in slots.map(embedder.embed, calls):
            pass
        print(process_time() - before)


if __name__ == "__main__":
    main(sys.argv[1])
