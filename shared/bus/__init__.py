"""How the daemons talk: keyed tables that readers follow, and requests that owners answer. No broker.

Each service binds two ZeroMQ sockets on ipc paths under RUN/bus: an XPUB on which it publishes every operation on its
tables, numbered, and a heartbeat each second with the last numbers; and a ROUTER that gives snapshots and answers
requests. A reader connects a SUB and a DEALER to each owner it needs. Deltas make it fast, snapshots make it right:
whatever is lost, late, doubled or out of order, and whoever is killed, every reader ends with its owner's table.

    bus.py        what a daemon uses                    tables.py     OwnedTable, TableView
    publisher.py  an owner's sockets                    link.py       a reader's sockets to one owner
    core_*.py     the protocol, pure                    wire.py       frames
    port.py       a socket in the event loop            tap.py        watching the bus
"""

from shared.bus.author import caused_by
from shared.bus.bus import Bus
from shared.bus.model import Change
from shared.bus.publisher import Call
from shared.bus.tables import OwnedTable, TableView

__all__ = ["Bus", "Call", "Change", "OwnedTable", "TableView", "caused_by"]
