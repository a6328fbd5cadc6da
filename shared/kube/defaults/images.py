"""The pull policy that follows from an image's name."""

import re
from typing import Final

_LATEST: Final = "latest"
_TAGGED: Final = re.compile(r":([^/:@]+)(?:@|$)")


def default_pull_policy(image: str) -> str:
    """`Always` for the tag `latest`, also when it is only implied, else `IfNotPresent`.

    A digest without a tag implies none (upstream `SetDefaults_Container`).
    """
    tagged = _TAGGED.search(image.rpartition("/")[2])
    implied = "" if "@" in image else _LATEST
    tag = tagged[1] if tagged is not None else implied
    return "Always" if tag == _LATEST else "IfNotPresent"
