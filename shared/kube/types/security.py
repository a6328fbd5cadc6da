"""Who a container runs as and what it may do."""

from shared.kube.types.base import ApiObject


class AppArmorProfile(ApiObject, frozen=True, kw_only=True):
    """`type` is RuntimeDefault, Unconfined or Localhost."""

    localhost_profile: str | None = None
    type: str = ""


class SELinuxOptions(ApiObject, frozen=True, kw_only=True):
    """The parts of an SELinux label."""

    level: str | None = None
    role: str | None = None
    type: str | None = None
    user: str | None = None


class SeccompProfile(ApiObject, frozen=True, kw_only=True):
    """`type` is RuntimeDefault, Unconfined or Localhost; the file is relative to the node's seccomp directory."""

    localhost_profile: str | None = None
    type: str = ""


class Sysctl(ApiObject, frozen=True, kw_only=True):
    """One kernel parameter of the pod's namespaces."""

    name: str = ""
    value: str = ""


class WindowsSecurityContextOptions(ApiObject, frozen=True, kw_only=True):
    """Only for Windows nodes; kept so that nothing of an object is lost."""

    gmsa_credential_spec: str | None = None
    gmsa_credential_spec_name: str | None = None
    host_process: bool | None = None
    run_as_user_name: str | None = None


class Capabilities(ApiObject, frozen=True, kw_only=True):
    """Linux capabilities added to and dropped from the runtime's default set."""

    add: list[str] = []
    drop: list[str] = []


class SecurityContext(ApiObject, frozen=True, kw_only=True):
    """Security of one container; what is set here wins over the pod's."""

    allow_privilege_escalation: bool | None = None
    app_armor_profile: AppArmorProfile | None = None
    capabilities: Capabilities | None = None
    privileged: bool | None = None
    proc_mount: str | None = None
    read_only_root_filesystem: bool | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    windows_options: WindowsSecurityContextOptions | None = None


class PodSecurityContext(ApiObject, frozen=True, kw_only=True):
    """Security of the whole pod, and defaults for its containers."""

    app_armor_profile: AppArmorProfile | None = None
    fs_group: int | None = None
    fs_group_change_policy: str | None = None
    run_as_group: int | None = None
    run_as_non_root: bool | None = None
    run_as_user: int | None = None
    se_linux_change_policy: str | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    supplemental_groups: list[int] = []
    supplemental_groups_policy: str | None = None
    sysctls: list[Sysctl] = []
    windows_options: WindowsSecurityContextOptions | None = None
