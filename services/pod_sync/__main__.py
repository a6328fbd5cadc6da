"""`python -m services.pod_sync`."""

from services.pod_sync.settings import PodSyncSettings
from services.pod_sync.shell import serve
from shared.service import main

if __name__ == "__main__":
    main("pod_sync", PodSyncSettings, serve)
