"""`python -m services.server`: this daemon alone, in the foreground."""

from services.server.settings import ServerSettings
from services.server.shell import serve
from shared.service import main

if __name__ == "__main__":
    main("server", ServerSettings, serve)
