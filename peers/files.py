"""What the programs beside this one share: messages for the user, files that are never half-written. Standard library only."""

import os
from pathlib import Path


class UserError(Exception):
    """The user's mistake: what was found, what was wanted, what to do."""


def write_atomically(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
