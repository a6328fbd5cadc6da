"""Run prober: `python -m services.prober`."""

from services.prober.settings import ProberSettings
from services.prober.shell import serve
from shared.service import main

if __name__ == "__main__":
    main("prober", ProberSettings, serve)
