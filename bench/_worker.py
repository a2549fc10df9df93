"""One subject in its own process: reads counts from standard input, writes figures to standard output."""

from __future__ import annotations

import importlib
import json
import os
import sys


def main(subject: str) -> None:
    """Load `module:factory`, then serve rounds until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a baseline prints does not mix with the answers
    module, factory = subject.split(":")
    work = getattr(importlib.import_module(module), factory)()
    for line in sys.stdin:
        answers.write(json.dumps(work(int(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
