"""Image names: the grammar of container image references and what Kubernetes adds to it. Pure.

A reference is `[domain/]path[:tag][@digest]` (the distribution project's grammar). Kubernetes appends `:latest` to one
that has neither tag nor digest and hands it to the runtime otherwise as written, without the default domain
(upstream `pkg/kubelet/images`, applyDefaultImageTag, and `pkg/util/parsers`).
"""

import re
from dataclasses import dataclass
from typing import Final

from shared.errors import Invalid

DEFAULT_DOMAIN: Final = "docker.io"
_LEGACY_DOMAIN: Final = "index.docker.io"
_MAX_NAME: Final = 255

_DOMAIN_PART: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN: Final = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_REFERENCE: Final = re.compile(
    rf"(?P<name>(?:{_DOMAIN}/)?{_PATH_PART}(?:/{_PATH_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?"
    r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)
_IDENTIFIER: Final = re.compile(r"[a-f0-9]{64}")
_DIGEST_SIZES: Final = {"sha256": 64, "sha384": 96, "sha512": 128}


@dataclass(frozen=True)
class ImageName:
    """A parsed reference. `repository` is complete (`docker.io/library/busybox`); tag and digest may be empty."""

    repository: str
    tag: str = ""
    digest: str = ""


def parse_image_name(image: str) -> ImageName:
    """The parts of an image name as a user wrote it. Raises Invalid with the text that users know."""
    try:
        return _parse(image)
    except Invalid as error:
        raise Invalid(f'couldn\'t parse image name "{image}": {error}') from error


def apply_default_tag(image: str) -> str:
    """The name as written, with `:latest` when it has neither tag nor digest. Raises Invalid."""
    name = parse_image_name(image)
    return image if name.tag or name.digest else f"{image}:latest"


def default_pull_policy(image: str) -> str:
    """The policy that the API gives a container without one: Always for `:latest` or no tag, else IfNotPresent.

    A name that cannot be parsed is IfNotPresent, as in upstream `pkg/apis/core/v1`, SetDefaults_Container.
    """
    try:
        name = parse_image_name(image)
    except Invalid:
        return "IfNotPresent"
    implied_latest = not name.tag and not name.digest
    return "Always" if name.tag == "latest" or implied_latest else "IfNotPresent"


def _parse(image: str) -> ImageName:
    if _IDENTIFIER.fullmatch(image):
        raise Invalid(f"invalid repository name ({image}), cannot specify 64-byte hexadecimal strings")
    domain, rest = _split_domain(image)
    path = rest.split("@", 1)[0] if "@" in rest else rest
    path = path.rsplit(":", 1)[0] if ":" in path else path
    if path.lower() != path:
        raise Invalid(f"invalid reference format: repository name ({path}) must be lowercase")
    match = _REFERENCE.fullmatch(f"{domain}/{rest}")
    if match is None:
        if not image:
            raise Invalid("invalid reference format")
        raise Invalid("invalid reference format")
    repository = match["name"]
    if len(repository.split("/", 1)[1]) > _MAX_NAME:
        raise Invalid(f"repository name must not be more than {_MAX_NAME} characters")
    digest = match["digest"] or ""
    if digest:
        _check_digest(digest)
    return ImageName(repository, match["tag"] or "", digest)


def _split_domain(image: str) -> tuple[str, str]:
    """Domain and the rest. The first part is a domain only when it looks like one."""
    first, slash, rest = image.partition("/")
    is_domain = bool(slash) and ("." in first or ":" in first or first == "localhost" or first.lower() != first)
    domain, rest = (first, rest) if is_domain else (DEFAULT_DOMAIN, image)
    if domain == _LEGACY_DOMAIN:
        domain = DEFAULT_DOMAIN
    if domain == DEFAULT_DOMAIN and "/" not in rest:
        rest = f"library/{rest}"
    return domain, rest


def _check_digest(digest: str) -> None:
    algorithm, _, encoded = digest.partition(":")
    size = _DIGEST_SIZES.get(algorithm)
    if size is None:
        raise Invalid("unsupported digest algorithm")
    if len(encoded) != size:
        raise Invalid("invalid checksum digest length")
    if encoded.lower() != encoded:
        raise Invalid("invalid checksum digest format")
