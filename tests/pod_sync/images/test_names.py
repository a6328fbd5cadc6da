"""Image names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.pod_sync.images.names import ImageName, apply_default_tag, default_pull_policy, parse_image_name
from shared.errors import Invalid

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("image", "repository", "tag", "digest"),
    [
        ("busybox", "docker.io/library/busybox", "", ""),
        ("busybox:1.36", "docker.io/library/busybox", "1.36", ""),
        (f"busybox@{DIGEST}", "docker.io/library/busybox", "", DIGEST),
        (f"busybox:1@{DIGEST}", "docker.io/library/busybox", "1", DIGEST),
        ("user/app", "docker.io/user/app", "", ""),
        ("docker.io/busybox", "docker.io/library/busybox", "", ""),
        ("index.docker.io/user/app:v1", "docker.io/user/app", "v1", ""),
        ("registry.k8s.io/pause:3.10", "registry.k8s.io/pause", "3.10", ""),
        ("localhost/app", "localhost/app", "", ""),
        ("localhost:5000/a/b/c", "localhost:5000/a/b/c", "", ""),
        ("[::1]:5000/app", "[::1]:5000/app", "", ""),
        ("HOST/app", "HOST/app", "", ""),
        ("a__b/c-d.e---f:_T.x-1", "docker.io/a__b/c-d.e---f", "_T.x-1", ""),
        ("sha256:" + "b" * 64, "docker.io/library/sha256", "b" * 64, ""),
    ],
)
def test_a_reference_has_a_repository_a_tag_and_a_digest(image: str, repository: str, tag: str, digest: str) -> None:
    assert parse_image_name(image) == ImageName(repository, tag, digest)


@pytest.mark.parametrize(
    ("image", "why"),
    [
        ("", "invalid reference format"),
        ("busy box", "invalid reference format"),
        ("a//b", "invalid reference format"),
        ("-a", "invalid reference format"),
        ("a___b", "invalid reference format"),
        ("busybox:", "invalid reference format"),
        ("busybox:" + "t" * 129, "invalid reference format"),
        ("busybox@sha256:abc", "invalid reference format"),
        ("busybox:1.36:2", "invalid reference format"),
        ("busybox\n", "invalid reference format"),
        ("Busybox", "invalid reference format: repository name (library/Busybox) must be lowercase"),
        ("host.io/App:v1", "invalid reference format: repository name (App) must be lowercase"),
        ("a" * 64, f"invalid repository name ({'a' * 64}), cannot specify 64-byte hexadecimal strings"),
        ("a" * 256, "repository name must not be more than 255 characters"),
        ("a@md5:" + "a" * 32, "unsupported digest algorithm"),
        ("a@sha256:" + "a" * 32, "invalid checksum digest length"),
        ("a@sha256:" + "A" * 64, "invalid checksum digest format"),
    ],
)
def test_a_wrong_reference_is_refused_with_the_words_that_users_know(image: str, why: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_image_name(image)
    assert str(caught.value) == f'couldn\'t parse image name "{image}": {why}'


@pytest.mark.parametrize(
    ("image", "result", "policy"),
    [
        ("busybox", "busybox:latest", "Always"),
        ("busybox:latest", "busybox:latest", "Always"),
        ("busybox:1.36", "busybox:1.36", "IfNotPresent"),
        (f"busybox@{DIGEST}", f"busybox@{DIGEST}", "IfNotPresent"),
        ("localhost:5000/app", "localhost:5000/app:latest", "Always"),
    ],
)
def test_latest_is_meant_when_nothing_is_said(image: str, result: str, policy: str) -> None:
    assert apply_default_tag(image) == result
    assert default_pull_policy(image) == policy


def test_a_wrong_name_has_a_policy_all_the_same() -> None:
    assert default_pull_policy("A B") == "IfNotPresent"


@given(st.text(max_size=40))
def test_no_text_is_more_than_refused(text: str) -> None:
    try:
        tagged = apply_default_tag(text)
    except Invalid:
        return
    assert apply_default_tag(tagged) == tagged
    assert parse_image_name(tagged).repository == parse_image_name(text).repository
