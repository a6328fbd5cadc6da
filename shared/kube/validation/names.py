"""Which names are allowed where. Each check gives the texts of what is wrong, none when nothing is.

Source: `apimachinery/pkg/util/validation`. Lengths are bytes of UTF-8, as there.
"""

import ipaddress
import re
from typing import Final

LABEL_MAX: Final = 63
SUBDOMAIN_MAX: Final = 253
PORT_NAME_MAX: Final = 15
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_QUALIFIED})?"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_HEADER: Final = "[-A-Za-z0-9]+"
_SIGNED_BY: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+/[-A-Za-z0-9_.:]+")
_PORT_CHARACTERS: Final = re.compile("[-a-z0-9]+")


def _form(text: str, pattern: str, *, rule: str, examples: tuple[str, ...]) -> list[str]:
    if re.fullmatch(pattern, text):
        return []
    shown = " or ".join(f"'{e}', " for e in examples)
    return [f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"]


def _length(text: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} bytes"] if len(text.encode()) > limit else []


def dns_label(name: str) -> list[str]:
    """RFC 1123 label: names of containers, volumes, namespaces."""
    rule = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-',"
        " and must start and end with an alphanumeric character"
    )
    return _length(name, LABEL_MAX) + _form(name, _LABEL, rule=rule, examples=("my-name", "123-abc"))


def dns_subdomain(name: str) -> list[str]:
    """RFC 1123 subdomain: names of pods, nodes, secrets and most other objects."""
    rule = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.',"
        " and must start and end with an alphanumeric character"
    )
    return _length(name, SUBDOMAIN_MAX) + _form(name, _SUBDOMAIN, rule=rule, examples=("example.com",))


def qualified_name(name: str) -> list[str]:
    """A name with an optional `prefix/`: label and annotation keys, resources, taints."""
    rule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    examples = ("MyName", "my.name", "123-abc")
    *prefix, last = name.split("/")
    if len(prefix) > 1:
        text = _form("", _QUALIFIED, rule=f"a qualified name {rule}", examples=examples)[0]
        return [text + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    wrong: list[str] = []
    if prefix:
        texts = ["must be non-empty"] if not prefix[0] else dns_subdomain(prefix[0])
        wrong += [f"prefix part {t}" for t in texts]
    if not last:
        wrong.append("name part must be non-empty")
    else:
        wrong += [f"name part {t}" for t in _length(last, LABEL_MAX)]
    return wrong + _form(last, _QUALIFIED, rule=f"name part {rule}", examples=examples)


def label_value(value: str) -> list[str]:
    """A label's value; empty is allowed."""
    rule = (
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.',"
        " and must start and end with an alphanumeric character"
    )
    return _length(value, LABEL_MAX) + _form(value, _LABEL_VALUE, rule=rule, examples=("MyValue", "my_value", "12345"))


def config_key(key: str) -> list[str]:
    """A key of a ConfigMap or Secret."""
    wrong = _length(key, SUBDOMAIN_MAX)
    rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
    wrong += _form(key, _CONFIG_KEY, rule=rule, examples=("key.name", "KEY_NAME", "key-name"))
    if key in (".", ".."):
        wrong.append(f"must not be '{key}'")
    elif key.startswith(".."):
        wrong.append("must not start with '..'")
    return wrong


def env_var_name(name: str) -> list[str]:
    """An environment variable: any printable ASCII but `=`."""
    wrong = ["environment variable name must be non-empty"] if not name else []
    if any(not " " <= c <= "~" or c == "=" for c in name):
        wrong.append("a valid environment variable name must consist only of printable ASCII characters other than '='")
    return wrong


def http_header(name: str) -> list[str]:
    return _form(
        name,
        _HEADER,
        rule="a valid HTTP header must consist of alphanumeric characters or '-'",
        examples=("X-Header-Name",),
    )


def port_number(port: int) -> list[str]:
    return [] if 1 <= port <= 65535 else ["must be between 1 and 65535, inclusive"]


def port_name(name: str) -> list[str]:
    """An IANA service name, as port names are."""
    wrong = []
    if len(name) > PORT_NAME_MAX:
        wrong.append(f"must be no more than {PORT_NAME_MAX} characters")
    if not _PORT_CHARACTERS.fullmatch(name):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in name:
        wrong.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        wrong.append("must not begin or end with a hyphen")
    return wrong


def numeric_id(value: int) -> list[str]:
    """A user or group."""
    return [] if 0 <= value <= 2**31 - 1 else ["must be between 0 and 2147483647, inclusive"]


def ip_address(text: str) -> list[str]:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return []


def signer_name(name: str) -> list[str]:
    """`example.com/signer`."""
    return (
        []
        if _SIGNED_BY.fullmatch(name)
        else ["must be a fully qualified domain and path of the form 'example.com/signer-name'"]
    )
