"""Defaults of KubeletConfiguration, in upstream's order and with its special cases (`kubelet/apis/config/v1beta1`)."""

import copy
from typing import Any, Final

from shared.config.fields import API_VERSION, KIND, ROOT, Field, Kind, Type
from shared.config.gates import effective_gates
from shared.config.model import Origin, get_path, set_path

DEFAULT_EVICTION_HARD: Final[dict[str, str]] = ROOT.children["evictionHard"].default
ZERO_DURATION: Final = "0s"

LEGACY: Final[dict[str, Any]] = {
    "authentication.anonymous.enabled": True,
    "authentication.webhook.enabled": False,
    "authorization.mode": "AlwaysAllow",
    "readOnlyPort": 10255,
}
"""what a start without `--config` begins with; kept so that old flag-only installations do not change"""


def legacy_base() -> tuple[dict[str, Any], dict[str, Origin]]:
    """The object that drop-ins and flags are applied to when no `--config` is given, and the origins of its values."""
    values: dict[str, Any] = {}
    for path, value in LEGACY.items():
        set_path(values, path, value)
    return values, dict.fromkeys(LEGACY, "default without --config")


def set_eviction_defaults(values: dict[str, Any]) -> None:
    """The hard eviction defaults, for a `--config` file only: all of them, or those missing if the file asks to merge."""
    given = values.get("evictionHard")
    if given is None:
        values["evictionHard"] = dict(DEFAULT_EVICTION_HARD)
    elif values.get("mergeDefaultEvictionSettings"):
        values["evictionHard"] = DEFAULT_EVICTION_HARD | given


def without_zeros(values: dict[str, Any], parent: Field = ROOT) -> dict[str, Any]:
    """The values as upstream writes them before it merges or defaults: zero means unset unless the field can tell."""
    kept: dict[str, Any] = {}
    for name, value in values.items():
        child = parent.children[name]
        if child.type.kind is Kind.STRUCT:
            kept[name] = without_zeros(value, child)
        elif not is_zero(child.type, value):
            kept[name] = value
    return kept


def is_zero(kind: Type, value: Any) -> bool:
    """Whether this value of a field cannot be told from an unset one."""
    if kind.pointer:
        return False
    return value == ZERO_DURATION if kind.kind is Kind.DURATION else not value


def apply_defaults(values: dict[str, Any]) -> dict[str, Any]:
    """A new object with every default filled in. Raises Invalid for feature gates that cannot be set so."""
    gates = effective_gates(values.get("featureGates", {}))
    result = _filled(ROOT, without_zeros(values))
    # evictionHard has a default only inside a --config file, see `set_eviction_defaults`
    if "evictionHard" not in values:
        result.pop("evictionHard", None)
    if get_path(values, "nodeStatusUpdateFrequency") and not get_path(values, "nodeStatusReportFrequency"):
        result["nodeStatusReportFrequency"] = result["nodeStatusUpdateFrequency"]
    if values.get("serializeImagePulls") is None and (values.get("maxParallelImagePulls") or 0) >= 2:
        result["serializeImagePulls"] = False
    if not gates["KubeletEnsureSecretPulledImages"] and not values.get("imagePullCredentialsVerificationPolicy"):
        result.pop("imagePullCredentialsVerificationPolicy", None)
    if not gates["KubeletCrashLoopBackOffMax"] and not get_path(values, "crashLoopBackOff.maxContainerRestartPeriod"):
        result["crashLoopBackOff"] = {}
    if result["podPidsLimit"] < 0:
        result["podPidsLimit"] = -1
    return result


def _filled(parent: Field, values: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, child in parent.children.items():
        given = values.get(name)
        if child.type.kind is Kind.STRUCT:
            if given is not None or child.default is not None:
                result[name] = _filled(child, given or {})
        elif given is not None:
            result[name] = given
        elif child.default is not None:
            result[name] = copy.deepcopy(child.default)
    return result


def external_form(values: dict[str, Any], cert_dir: str) -> dict[str, Any]:
    """The object as upstream shows it (`/configz`, the start-up log): with apiVersion and kind, zero values left out
    except durations, structs and scalars that can be unset, and the paths of a self-made serving certificate."""
    shown = {"kind": KIND, "apiVersion": API_VERSION, **_shown(ROOT, values)}
    if not any(values.get(name) for name in ("serverTLSBootstrap", "tlsCertFile", "tlsPrivateKeyFile")):
        shown |= {"tlsCertFile": f"{cert_dir}/kubelet.crt", "tlsPrivateKeyFile": f"{cert_dir}/kubelet.key"}
    return shown


_ALWAYS_SHOWN: Final = frozenset({"containerRuntimeEndpoint", "logging.verbosity"})


def _shown(parent: Field, values: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, child in parent.children.items():
        value = values.get(name)
        if value is None:
            continue
        if child.type.kind is Kind.STRUCT:
            shown[name] = _shown(child, value)
        elif value or child.type.pointer or child.path in _ALWAYS_SHOWN or child.type.kind is Kind.DURATION:
            shown[name] = value
    return shown
