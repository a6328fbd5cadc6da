"""`python -m services.node_status`: this daemon alone, in the foreground."""

from services.node_status.settings import NodeStatusSettings
from services.node_status.shell import serve
from shared.service import main

if __name__ == "__main__":
    main("node_status", NodeStatusSettings, serve)
