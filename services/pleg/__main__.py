"""`python -m services.pleg`: this daemon alone, in the foreground."""

from services.pleg.settings import PlegSettings
from services.pleg.shell import serve
from shared.service import main

if __name__ == "__main__":
    main("pleg", PlegSettings, serve)
