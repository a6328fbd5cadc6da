"""Rules for `--node-labels` (upstream `cmd/kubelet/app/options`)."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

_ALLOWED: Final = (
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
)
_ALLOWED_PREFIXES: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def validate_node_labels(labels: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with these labels."""
    foreign = sorted(key for key in labels if _is_foreign(key))
    if foreign:
        yield (
            f"unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [{' '.join(foreign)}]\n"
            f"--node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix "
            f"({', '.join(_ALLOWED_PREFIXES)}) or be in the specifically allowed set ({', '.join(_ALLOWED)})"
        )
    wrong = [f"'{key}' - {reason}" for key, value in labels.items() for reason in _syntax_errors(key, value)]
    if wrong:
        yield f"invalid node labels: {'; '.join(wrong)}"


def _is_foreign(key: str) -> bool:
    namespace, slash, _ = key.partition("/")
    if not slash or key in _ALLOWED:
        return False
    if not any(namespace == domain or namespace.endswith("." + domain) for domain in ("kubernetes.io", "k8s.io")):
        return False
    return not any(namespace == prefix or namespace.endswith("." + prefix) for prefix in _ALLOWED_PREFIXES)


def _syntax_errors(key: str, value: str) -> Iterator[str]:
    namespace, slash, name = key.rpartition("/")
    if slash and (not _SUBDOMAIN.fullmatch(namespace) or len(namespace) > 253):
        yield "prefix part must be a lowercase RFC 1123 subdomain of at most 253 characters"
    if not _NAME.fullmatch(name) or len(name) > 63:
        yield (
            "name part must consist of alphanumeric characters, '-', '_' or '.', must start and end with an "
            "alphanumeric character and be no more than 63 characters"
        )
    if value and (not _NAME.fullmatch(value) or len(value) > 63):
        yield (
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', must start "
            "and end with an alphanumeric character and be no more than 63 characters"
        )
