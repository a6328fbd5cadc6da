"""`python -m services.eviction`: this daemon alone, in the foreground."""

from services.eviction.settings import EvictionSettings
from services.eviction.shell import serve
from shared.service import main

if __name__ == "__main__":
    main("eviction", EvictionSettings, serve)
