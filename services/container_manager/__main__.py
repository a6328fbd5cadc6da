"""`python -m services.container_manager`: this daemon alone, in the foreground."""

from services.container_manager.settings import ContainerManagerSettings
from services.container_manager.shell import serve
from shared.service import main

if __name__ == "__main__":
    main("container_manager", ContainerManagerSettings, serve)
