"""A process of its own for the bus tests: `python -m tests.shared.bus.peer ROLE RUN_DIR ARGUMENT`.

owner LIFE     publishes the rows of that life, then a stream of more, until it is killed
reader COUNT   follows until it has seen that the table is whole with COUNT writes, and prints a digest of it
garbage COUNT  sends COUNT noise messages to the owner's sockets
"""

import asyncio
import hashlib
import random
import sys
from collections.abc import Mapping
from pathlib import Path

import zmq

from shared.bus import Bus, Call
from shared.bus.endpoints import Socket, endpoint
from tests.shared.bus.rows import ADD_ONE, THINGS, Row

ROWS = 200


def rows_of(life: int) -> dict[str, Row]:
    """What the owner has when it says complete in that life: every seventh key is missing, another one in each life."""
    return {f"row-{n}": Row(n=life, text="x" * 500) for n in range(ROWS) if (n + life) % 7}


def digest(rows: Mapping[str, Row]) -> str:
    text = repr(sorted((key, row.n, row.text) for key, row in rows.items()))
    return hashlib.sha256(text.encode()).hexdigest()


async def own(run_dir: Path, life: int) -> None:
    async def add_one(question: Row, call: Call) -> Row:
        await asyncio.sleep(0.001)
        return Row(n=question.n + 1, text=str(life))

    async with Bus("pleg", run_dir) as bus:
        table = bus.own(THINGS)
        bus.answer(ADD_ONE, add_one)
        for key, row in rows_of(life).items():
            table.put(key, row)
        table.mark(complete=True, as_of_mono=float(life))
        number = 0
        while True:  # the mark says how often the extra row was written before it
            await asyncio.sleep(0.001)
            number += 1
            table.put("extra", Row(n=number))
            table.mark(as_of_mono=life + number / 1e6)


async def read(run_dir: Path, count: int) -> None:
    async with Bus("pod_sync", run_dir) as bus:
        view = bus.follow(THINGS)
        await view.wait(lambda v: v.complete)
        print("following", flush=True)
        await view.wait(lambda v: v.as_of_mono == float(count))
        print(digest(dict(view.items())), bus.stats.fetched["pleg", "things"], flush=True)


def make_noise(run_dir: Path, count: int) -> None:
    chance = random.Random(count)
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    dealer, subscriber = context.socket(zmq.DEALER), context.socket(zmq.XSUB)
    dealer.connect(endpoint(run_dir, "pleg", Socket.REQUEST))
    subscriber.connect(endpoint(run_dir, "pleg", Socket.PUBLISH))
    for _ in range(count):
        frames = [chance.randbytes(chance.randrange(200)) for _ in range(chance.randrange(1, 5))]
        dealer.send_multipart(frames)
        subscriber.send_multipart(frames)
    context.destroy(linger=2000)


if __name__ == "__main__":
    role, folder, argument = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    if role == "garbage":
        make_noise(folder, argument)
    else:
        asyncio.run({"owner": own, "reader": read}[role](folder, argument))
