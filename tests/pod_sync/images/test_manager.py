"""Ensuring images against a runtime that is played."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from services.pod_sync.images.manager import ImageManager
from services.pod_sync.images.model import EnsuredImage, ImageRequest, PullSettings
from services.pod_sync.runtime.model import StartError
from shared.cri import api
from shared.errors import NotFound, OctoletError, Transient
from tests.pod_sync.environment.manifests import make_pod

SANDBOX = api.PodSandboxConfig(metadata=api.PodSandboxMetadata(name="web"))
POD = make_pod(annotations={"a": "b"})
PRESENT = api.Image(id="sha256:1", size=7, uid=api.Int64Value(value=1000))

Event = tuple[str | None, str, str, str]


class FakeImages:
    """An image service: images by name, failures by name, and a gate that holds pulls back."""

    def __init__(self) -> None:
        self.present: dict[str, api.Image] = {}
        self.status_error: OctoletError | None = None
        self.pull_errors: list[OctoletError] = []
        self.pulls: list[api.PullImageRequest] = []
        self.looks: list[api.ImageStatusRequest] = []
        self.running = 0
        self.most = 0
        self.gate: Callable[[], Awaitable[object]] | None = None

    async def image_status(
        self, request: api.ImageStatusRequest, *, timeout_s: float | None = None
    ) -> api.ImageStatusResponse:
        self.looks.append(request)
        if self.status_error is not None:
            raise self.status_error
        return api.ImageStatusResponse(image=self.present.get(request.image.image))

    async def pull_image(
        self, request: api.PullImageRequest, *, timeout_s: float | None = None
    ) -> api.PullImageResponse:
        self.pulls.append(request)
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self.gate is not None:
                await self.gate()
            if self.pull_errors:
                raise self.pull_errors.pop(0)
        finally:
            self.running -= 1
        self.present["sha256:1"] = PRESENT
        return api.PullImageResponse(image_ref="sha256:1")


class Setting:
    """A manager with its runtime, its clock and the events it emitted."""

    def __init__(self, settings: PullSettings | None = None) -> None:
        self.cri = FakeImages()
        self.now = 0.0
        self.events: list[Event] = []
        self.manager = ImageManager(self.cri, settings or PullSettings(), now=lambda: self.now)

    async def ensure(
        self, image: str = "busybox:1.36", policy: str = "IfNotPresent", *credentials: api.AuthConfig
    ) -> EnsuredImage:
        request = ImageRequest(
            pod=POD, image=image, policy=policy, sandbox_config=SANDBOX, container="app", credentials=credentials
        )
        return await self.manager.ensure(request, lambda *event: self.events.append(event))

    def failure(self, image: str = "busybox:1.36", policy: str = "IfNotPresent") -> tuple[str, str]:
        with pytest.raises(StartError) as caught:
            asyncio.run(self.ensure(image, policy))
        return caught.value.reason, caught.value.message


PULLING = ("app", "Normal", "Pulling", 'Pulling image "busybox:1.36"')
PULLED = (
    "app",
    "Normal",
    "Pulled",
    'Successfully pulled image "busybox:1.36" in 0s (0s including waiting). Image size: 7 bytes.',
)
FOUND = (
    "app",
    "Normal",
    "Pulled",
    'Container image "busybox:1.36" already present on machine and can be accessed by the pod',
)


@pytest.mark.parametrize(
    ("policy", "present", "pulls", "events"),
    [
        ("IfNotPresent", True, 0, [FOUND]),
        ("IfNotPresent", False, 1, [PULLING, PULLED]),
        ("Always", True, 1, [PULLING, PULLED]),
        ("Always", False, 1, [PULLING, PULLED]),
        ("Never", True, 0, [FOUND]),
    ],
)
def test_the_policy_decides_whether_to_pull(policy: str, present: bool, pulls: int, events: list[Event]) -> None:
    setting = Setting()
    if present:
        setting.cri.present["busybox:1.36"] = PRESENT
    image = asyncio.run(setting.ensure(policy=policy))
    assert image == EnsuredImage("sha256:1", 7, uid=1000)
    assert len(setting.cri.pulls) == pulls
    assert setting.events == events


def test_always_does_not_look_before_it_pulls() -> None:
    setting = Setting()
    asyncio.run(setting.ensure(policy="Always"))
    assert [look.image.image for look in setting.cri.looks] == ["sha256:1"]


def test_the_runtime_gets_the_tagged_name_the_pods_annotations_and_the_sandbox() -> None:
    setting = Setting()
    asyncio.run(setting.ensure("busybox", "Always"))
    assert setting.cri.pulls == [
        api.PullImageRequest(
            image=api.ImageSpec(image="busybox:latest", annotations={"a": "b"}), sandbox_config=SANDBOX
        )
    ]
    assert setting.events[0][3] == 'Pulling image "busybox"'


def test_never_pulling_an_absent_image_is_told() -> None:
    setting = Setting()
    text = 'Container image "busybox:1.36" is not present with pull policy of Never'
    assert setting.failure(policy="Never") == ("ErrImageNeverPull", text)
    assert setting.events == [("app", "Warning", "ErrImageNeverPull", text)]


def test_an_image_that_the_runtime_says_is_not_found_is_pulled() -> None:
    setting = Setting()
    setting.cri.status_error = NotFound("gone")
    assert asyncio.run(setting.ensure()).ref == "sha256:1"


def test_a_runtime_that_cannot_tell_is_an_inspection_error() -> None:
    setting = Setting()
    setting.cri.status_error = Transient("rpc error: code = Unavailable desc = away")
    text = 'Failed to inspect image "": rpc error: code = Unavailable desc = away'
    assert setting.failure() == ("ImageInspectError", text)
    assert setting.events == [("app", "Warning", "InspectFailed", text)]


def test_a_wrong_name_is_told_before_anything_is_asked() -> None:
    setting = Setting()
    text = (
        'Failed to apply default image tag "A B": couldn\'t parse image name "A B": '
        "invalid reference format: repository name (library/A B) must be lowercase"
    )
    assert setting.failure("A B") == ("InvalidImageName", text)
    assert setting.events == [("app", "Warning", "InspectFailed", text)]
    assert not setting.cri.looks


@pytest.mark.parametrize(
    ("error", "reason", "message"),
    [
        ("no route", "ErrImagePull", "no route"),
        (
            "RegistryUnavailable: 503",
            "RegistryUnavailable",
            "image pull failed for busybox:1.36 because the registry is unavailable: 503",
        ),
        (
            "SignatureValidationFailed",
            "SignatureValidationFailed",
            "image pull failed for busybox:1.36 because the signature validation failed",
        ),
    ],
)
def test_a_failed_pull_has_the_reason_that_the_runtime_gave(error: str, reason: str, message: str) -> None:
    setting = Setting()
    setting.cri.pull_errors = [Transient(error)]
    assert setting.failure() == (reason, message)
    assert setting.events == [
        PULLING,
        ("app", "Warning", "Failed", f'Failed to pull image "busybox:1.36": {error}'),
    ]


def test_after_a_failure_the_pod_waits_and_is_told_of_the_last_error() -> None:
    setting = Setting()
    setting.cri.pull_errors = [Transient("no route")]
    setting.failure()
    setting.events.clear()
    setting.now = 9.0
    text = 'Back-off pulling image "busybox:1.36"'
    assert setting.failure() == ("ImagePullBackOff", f"{text}: ErrImagePull: no route")
    assert setting.events == [("app", "Normal", "BackOff", text)]
    assert len(setting.cri.pulls) == 1
    setting.now = 10.0
    assert asyncio.run(setting.ensure()).ref == "sha256:1"


def test_an_image_that_came_meanwhile_ends_the_wait() -> None:
    setting = Setting()
    setting.cri.pull_errors = [Transient("no route")]
    setting.failure()
    setting.cri.present["busybox:1.36"] = PRESENT
    assert asyncio.run(setting.ensure()).ref == "sha256:1"


def test_a_second_failure_waits_twice_as_long_and_all_is_forgotten_in_the_end() -> None:
    setting = Setting()
    setting.cri.pull_errors = [Transient("a"), Transient("b"), Transient("c")]
    for now, reason in ((0.0, "ErrImagePull"), (10.0, "ErrImagePull"), (29.9, "ImagePullBackOff")):
        setting.now = now
        assert setting.failure()[0] == reason
    setting.now = 700.0
    setting.manager.forget_expired()
    assert setting.failure()[0] == "ErrImagePull"
    setting.now = 710.0
    asyncio.run(setting.ensure())


def test_more_pulls_than_the_rate_allows_fail_without_asking_the_runtime() -> None:
    setting = Setting(PullSettings(registry_qps=1, registry_burst=1))
    asyncio.run(setting.ensure(policy="Always"))
    assert setting.failure(policy="Always") == ("ErrImagePull", "pull QPS exceeded")
    assert len(setting.cri.pulls) == 1


def test_credentials_are_tried_in_turn_until_one_is_taken() -> None:
    setting = Setting()
    setting.cri.pull_errors = [Transient("401")]
    first, second = api.AuthConfig(username="a"), api.AuthConfig(username="b")
    asyncio.run(setting.ensure("busybox:1.36", "Always", first, second))
    assert [pull.auth.username for pull in setting.cri.pulls] == ["a", "b"]


@pytest.mark.parametrize(
    ("errors", "message"), [(["a", "b"], "[a, b]"), (["a", "a"], "a"), (["a", "b", "a"], "[a, b]")]
)
def test_when_no_credential_is_taken_all_answers_are_told_once(errors: list[str], message: str) -> None:
    setting = Setting()
    setting.cri.pull_errors = [Transient(error) for error in errors]
    credentials = [api.AuthConfig(username=str(index)) for index in range(len(errors))]
    with pytest.raises(StartError) as caught:
        asyncio.run(setting.ensure("busybox:1.36", "Always", *credentials))
    assert caught.value.message == message


def test_credentials_are_kept_out_of_texts() -> None:
    secret = api.AuthConfig(username="u", password="hunter2")
    request = ImageRequest(pod=POD, image="x", policy="Always", sandbox_config=SANDBOX, credentials=(secret,))
    assert "hunter2" not in repr(request)


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        (PullSettings(registry_qps=0), 1),
        (PullSettings(registry_qps=0, serialize_pulls=False, max_parallel_pulls=2), 2),
        (PullSettings(registry_qps=0, serialize_pulls=False), 4),
    ],
)
def test_no_more_pulls_run_at_a_time_than_the_settings_allow(settings: PullSettings, most: int) -> None:
    async def scenario() -> int:
        setting = Setting(settings)
        release = asyncio.Event()
        setting.cri.gate = release.wait
        tasks = [asyncio.create_task(setting.ensure(policy="Always")) for _ in range(4)]
        while setting.cri.running < most:
            await asyncio.sleep(0)
        release.set()
        await asyncio.gather(*tasks)
        assert len(setting.cri.pulls) == 4
        return setting.cri.most

    assert asyncio.run(scenario()) == most


def test_the_times_told_are_those_of_the_pull_and_of_the_wait_before_it() -> None:
    async def scenario() -> list[str]:
        setting = Setting(PullSettings(registry_qps=0))

        async def two_seconds() -> None:
            await asyncio.sleep(0)  # both have asked by now
            setting.now += 2.0345

        setting.cri.gate = two_seconds
        await asyncio.gather(setting.ensure(policy="Always"), setting.ensure(policy="Always"))
        return [event[3] for event in setting.events if event[2] == "Pulled"]

    assert asyncio.run(scenario()) == [
        'Successfully pulled image "busybox:1.36" in 2.034s (2.034s including waiting). Image size: 7 bytes.',
        'Successfully pulled image "busybox:1.36" in 2.034s (4.069s including waiting). Image size: 7 bytes.',
    ]


def test_a_cut_pull_frees_its_turn_and_is_simply_made_again() -> None:
    async def scenario() -> EnsuredImage:
        setting = Setting()
        setting.cri.gate = asyncio.Event().wait
        task = asyncio.create_task(setting.ensure(policy="Always"))
        while not setting.cri.running:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        setting.cri.gate = None
        return await setting.ensure(policy="Always")

    assert asyncio.run(scenario()).ref == "sha256:1"


@pytest.mark.parametrize(
    ("image", "uid", "username"),
    [
        (api.Image(id="i", size=1), 0, ""),
        (api.Image(id="i", size=1, username="nobody"), None, "nobody"),
        (api.Image(id="i", size=1, uid=api.Int64Value(value=0), username="root"), 0, ""),
    ],
)
def test_the_images_own_user_is_told(image: api.Image, uid: int | None, username: str) -> None:
    setting = Setting()
    setting.cri.present["busybox:1.36"] = image
    assert asyncio.run(setting.ensure()) == EnsuredImage("i", 1, uid=uid, username=username)


def test_a_pulled_image_that_cannot_be_looked_at_does_not_start_a_container() -> None:
    setting = Setting()
    setting.cri.status_error = Transient("away")
    assert setting.failure(policy="Always") == ("CreateContainerConfigError", "away")
    assert setting.events[-1][2] == "Pulled"
