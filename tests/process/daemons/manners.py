"""What the supervisor knows of a daemon: a lock with its pid, a file touched by its loop, SIGTERM."""

import contextlib
import fcntl
import os
import signal
import sys
import time
from pathlib import Path


def live(name: str) -> None:
    """Run until SIGTERM. `<run>/<name>.exit`, if there, makes it end at once with the number inside."""
    run_dir = Path(sys.argv[sys.argv.index("--run-dir") + 1])
    lock = os.open(run_dir / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())
    with contextlib.suppress(FileNotFoundError):
        sys.exit(int((run_dir / f"{name}.exit").read_text()))
    stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: stop.append(number))
    with contextlib.suppress(OSError):
        print(f"{name} runs", flush=True)
    while not stop:
        (run_dir / f"{name}.alive").touch()
        time.sleep(0.1)
