"""Environment files (feature gate EnvFiles): `KEY='value'` lines on a volume. Pure.

Single quotes are required, a value may go over several lines, `#` begins a comment. No blank before `=`; a blank after
it means an empty value. Only blanks or a comment may follow the closing quote. The first of equal keys counts.
"""

import re
from typing import Final

from services.pod_sync.environment.model import ConfigError

_KEY: Final = re.compile(r"[ \t]*([^\s=#][^\s=]*)=")
_REST_OF_LINE: Final = re.compile(r"[ \t\r]*(#[^\n]*)?(\n|$)")


def parse_env_file(text: str) -> dict[str, str]:
    """Variables by name. Raises ConfigError `couldn't parse env file` for anything else, as upstream words it."""
    variables: dict[str, str] = {}
    at = 0
    while at < len(text):
        blank = _REST_OF_LINE.match(text, at)
        if blank is not None:
            at = blank.end()
            continue
        key = _KEY.match(text, at)
        if key is None:
            raise ConfigError("couldn't parse env file")
        value, at = _value(text, key.end())
        variables.setdefault(key[1], value)
    return variables


def _value(text: str, at: int) -> tuple[str, int]:
    """The value that begins there, and where the next line begins."""
    value = ""
    if text[at : at + 1] == "'":
        end = text.find("'", at + 1)
        if end < 0:
            raise ConfigError("couldn't parse env file")
        value, at = text[at + 1 : end], end + 1
    rest = _REST_OF_LINE.match(text, at)
    if rest is None:
        raise ConfigError("couldn't parse env file")
    return value, rest.end()
