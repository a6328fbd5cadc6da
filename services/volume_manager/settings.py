"""Settings of volume_manager, read from RUN/settings/volume_manager.json."""

import msgspec


class VolumeManagerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults are the kubelet's own."""

    root_dir: str = "/var/lib/kubelet"
    """where pod directories are made; flag `--root-dir`"""
    volume_stats_agg_period_s: float = 60.0
    """seconds between two looks at a pod's volumes, with up to as much again of jitter; zero or less: never
    (KubeletConfiguration `volumeStatsAggPeriod`)"""
    max_blocked_operations: int = 64
    """volume operations that may hang at the same time, each in a thread, before others have to wait"""
    orphan_scan_period_s: float = 30.0
    """seconds between two listings of the pod directories for ones that nobody owns (upstream looks at each 2 s
    housekeeping; here removals follow changes of the tables, and the listing only finds what others left)"""
