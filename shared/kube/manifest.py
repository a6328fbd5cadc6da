"""From the bytes of a static pod's manifest to the pod that this node runs.

One rule for every input: the result is a pod that an API server would have created, or `Invalid` that names the file
and, where there is one, the field. Hostile input (huge, deeply nested, aliases of aliases, any bytes) is `Invalid` too.

Order (upstream `kubelet/config`, `tryDecodeSinglePod`): decode, API defaults, static pod rules, validation as a create,
refusal of API references. Two deliberate differences: a status in the manifest is dropped (upstream would believe it),
and so are the node's own annotations, which manifests made from `kubectl get -o yaml` carry (upstream would take such a
pod for a mirror pod and never run it).
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from shared.errors import Invalid
from shared.kube.api_references import first_api_reference
from shared.kube.defaults import default_pod
from shared.kube.pods import CONFIG_HASH, CONFIG_MIRROR, CONFIG_SEEN, CONFIG_SOURCE
from shared.kube.shape import WrongShape, build
from shared.kube.types import Pod, PodStatus, Toleration
from shared.kube.validation import validate_pod
from shared.kube.yaml_document import MAX_NODES, InvalidYaml, read_first_document

MAX_BYTES: Final = 10 * 1024 * 1024
FILE_SOURCE: Final = "file"
HTTP_SOURCE: Final = "http"
_UID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""A pod's directories and cgroups are named by it; an API server makes UIDs itself, a manifest may hold anything."""
_LONGEST_ERROR: Final = 4096
_OURS: Final = (CONFIG_SOURCE, CONFIG_MIRROR, CONFIG_SEEN)


@dataclass(frozen=True)
class Manifest:
    """A sound pod, and what of its manifest was not used: unknown fields, a status, annotations of the node's own."""

    pod: Pod
    ignored: tuple[str, ...] = ()


def decode_manifest(data: bytes, path: str, node_name: str, source: str = FILE_SOURCE) -> Manifest:
    """The one pod in `data`. `path` is the file or URL, `source` is `file` or `http`. Raises `Invalid`."""
    try:
        return _manifest(_document(data), path, node_name, source)
    except _Refused as refused:
        raise Invalid(f"{path}: {refused}"[:_LONGEST_ERROR]) from refused.__cause__


def decode_manifests(data: bytes, path: str, node_name: str, source: str = HTTP_SOURCE) -> list[Manifest]:
    """One pod, or all items of a `PodList`; one bad item refuses them all. Raises `Invalid`."""
    try:
        document = _document(data)
        if not isinstance(document, dict) or document.get("kind") != "PodList":
            return [_manifest(document, path, node_name, source)]
        items = document.get("items") or []
        if document.get("apiVersion") != "v1" or not isinstance(items, list):
            raise _not_a_pod('a PodList has apiVersion "v1" and a list of items')
        kinds = {"kind": "Pod", "apiVersion": "v1"}
        return [_manifest(kinds | i if isinstance(i, dict) else i, path, node_name, source) for i in items]
    except _Refused as refused:
        raise Invalid(f"{path}: {refused}"[:_LONGEST_ERROR]) from refused.__cause__


class _Refused(Exception):
    """Why; the path is added where it is known."""


def _not_a_pod(why: str) -> _Refused:
    return _Refused(f"couldn't parse as pod({why}), please check config file")


def _document(data: bytes) -> Any:
    if len(data) > MAX_BYTES:
        raise _not_a_pod(f"larger than {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_a_pod(f"not UTF-8: byte {error.start}") from error
    if not text.lstrip().startswith("{"):
        try:
            return read_first_document(text)
        except InvalidYaml as error:
            raise _not_a_pod(str(error)) from error
    try:
        document = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _not_a_pod("JSON is nested too deeply" if isinstance(error, RecursionError) else str(error)) from error
    if _too_many_nodes(document):
        raise _not_a_pod(f"more than {MAX_NODES} values")
    return document


def _too_many_nodes(document: Any) -> bool:
    todo, seen = [document], 0
    while todo and seen <= MAX_NODES:
        one = todo.pop()
        seen += 1
        todo.extend(one if isinstance(one, list) else one.values() if isinstance(one, dict) else ())
    return seen > MAX_NODES


def _manifest(document: Any, path: str, node_name: str, source: str) -> Manifest:
    _check_kind(document)
    try:
        decoded, unknown = build({k: v for k, v in document.items() if k != "status"}, Pod)
    except WrongShape as error:
        raise _not_a_pod(str(error)) from error
    ignored = [*unknown, *(["status"] if document.get("status") else [])]
    ignored += [f"metadata.annotations[{name}]" for name in _OURS if name in decoded.metadata.annotations]
    pod = _static(default_pod(decoded), _uid(decoded, path, node_name, source), node_name, source)
    errors = validate_pod(pod)
    if errors.count:
        raise _Refused(f"invalid pod: {errors.joined()}")
    reference = first_api_reference(pod)
    if reference:
        raise _Refused(f"static pods may not reference {reference}")
    return Manifest(pod, tuple(ignored))


def _check_kind(document: Any) -> None:
    if not isinstance(document, dict):
        raise _not_a_pod("the document is not an object" if document is not None else "the document is empty")
    kind, version = document.get("kind"), document.get("apiVersion")
    if not kind:
        raise _not_a_pod("Object 'Kind' is missing")
    if not version:
        raise _not_a_pod("Object 'apiVersion' is missing")
    if kind != "Pod" or version != "v1":
        raise _not_a_pod(f"{_short(version)} {_short(kind)} is not a v1 Pod; one file holds one pod")
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise _Refused("invalid pod: name is needed for the pod")


def _short(value: Any) -> str:
    return value[:63] if isinstance(value, str) else "?"


def _uid(decoded: Pod, path: str, node_name: str, source: str) -> str:
    """Stable for content, node and place; comments and layout do not count, and neither do fields yet unknown."""
    if given := decoded.metadata.uid:
        if not _UID.fullmatch(given):
            what = "must consist of at most 128 alphanumeric characters, '-', '_' or '.', and start with an alphanumeric one"
            raise _Refused(f'invalid pod: metadata.uid: Invalid value: "{given[:128]}": {what}')
        return given
    content = msgspec.json.encode(decoded, order="deterministic")
    place = f"host:{node_name}file:{path}" if source == FILE_SOURCE else f"url:{path}"
    return hashlib.blake2b(content + place.encode(), digest_size=16).hexdigest()


def _static(pod: Pod, uid: str, node_name: str, source: str) -> Pod:
    metadata, spec = pod.metadata, pod.spec
    annotations = {k: v for k, v in metadata.annotations.items() if k not in _OURS}
    tolerations = spec.tolerations
    if source == FILE_SOURCE:
        tolerations = [*tolerations, Toleration(operator="Exists", effect="NoExecute")]
    return replace(
        pod,
        metadata=replace(
            metadata,
            uid=uid,
            name=f"{metadata.name}-{node_name.lower()}",
            namespace=metadata.namespace or "default",
            annotations={**annotations, CONFIG_HASH: uid},
            managed_fields=[],
        ),
        spec=replace(spec, node_name=node_name, tolerations=tolerations),
        status=PodStatus(phase="Pending"),
    )
