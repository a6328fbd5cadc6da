"""A daemon for the scaffold's tests: `python -m tests.shared.service.daemon [--run-dir ...]`. What it does is a setting."""

import asyncio
import time

import msgspec

from shared.errors import Fatal
from shared.messages.daemon import ObjectReference
from shared.service import Context, main


class DaemonSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the test wants."""

    act: str = "serve"
    period_s: float = 1.0
    sizes: dict[str, int] = {}

    def __post_init__(self) -> None:
        if self.period_s <= 0:
            raise ValueError("period_s must be positive")


async def serve(ctx: Context[DaemonSettings]) -> None:
    match ctx.settings.act:
        case "return":
            return
        case "raise":
            raise ZeroDivisionError("bug")
        case "fatal":
            raise Fatal("open the thing: it is broken")
        case "task returns":
            ctx.spawn("short", asyncio.sleep(0))
        case "task raises":
            ctx.spawn("broken", fail())
        case "block":
            ctx.ready()
            time.sleep(60)
        case "talk":
            for n in range(5000):
                ctx.log.info("thing.happened", n=n, text="x" * 100)
    ctx.event(ObjectReference(kind="Node", name="n1"), "Normal", "Starting", "here we are")
    ctx.ready()
    await ctx.stopping.wait()


async def fail() -> None:
    raise ZeroDivisionError("bug in a task")


if __name__ == "__main__":
    main("prober", DaemonSettings, serve)
