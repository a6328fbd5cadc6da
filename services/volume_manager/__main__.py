"""Run volume_manager: `python -m services.volume_manager`."""

from services.volume_manager.settings import VolumeManagerSettings
from services.volume_manager.shell import serve
from shared.service import main

if __name__ == "__main__":
    main("volume_manager", VolumeManagerSettings, serve)
