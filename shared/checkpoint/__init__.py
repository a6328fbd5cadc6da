"""Files that survive a crash: written whole or not at all, and never a reason to refuse to start."""

from shared.checkpoint.atomic import write_atomic
from shared.checkpoint.checkpoint import Checkpoint

__all__ = ["Checkpoint", "write_atomic"]
