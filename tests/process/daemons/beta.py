"""The daemon `beta`."""

from tests.process.daemons.manners import live

if __name__ == "__main__":
    live("beta")
