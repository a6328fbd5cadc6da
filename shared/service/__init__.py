"""What every daemon's process does: arguments, settings, lock, logs, bus, signals, liveness. See `main`."""

from shared.service.context import Context, TaskReturned, open_context
from shared.service.main import main, run_as_main

__all__ = ["Context", "TaskReturned", "main", "open_context", "run_as_main"]
