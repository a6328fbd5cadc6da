"""gRPC over Unix sockets, the way the container runtime, device plugins and CSI drivers speak it.

`methods` binds services from their descriptors (no generated client or server code), `channel` opens channels,
`errors` turns status codes into `shared.errors`, `server` serves one object's methods.
"""

import os

# The library writes to stderr by itself when a peer goes away, which is ours to report; it reads this when imported.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
