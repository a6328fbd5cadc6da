"""Options that several verbs share."""

import os
from pathlib import Path
from typing import Final

DEFAULT_RUN_DIR: Final = "/run/octolet"
RUN_DIR_HELP: Final = "the daemons' run directory (default: $OCTOLET_RUN_DIR, else /run/octolet)"


def default_run_dir() -> Path:
    """`$OCTOLET_RUN_DIR`, else `/run/octolet`."""
    return Path(os.environ.get("OCTOLET_RUN_DIR") or DEFAULT_RUN_DIR)
