"""Writes a volume's files so that a reader sees either all of the old content or all of the new.

    VOLUME/..2026_12_01_10_00_00.123456/...     the files of one version
    VOLUME/..data -> ..2026_12_01_10_00_00.123456    switched by one rename
    VOLUME/name -> ..data/name                  what a reader opens

Steps and layout are upstream's (`volume/util/atomic_writer`), so that watchers of `..data` see what they know. Unlike
there, what a crash leaves behind (a half-written version, a link that was not yet renamed) is removed by the next write.
"""

from collections.abc import Callable
from typing import Final

from services.volume_manager.ports import Filesystem
from services.volume_manager.projections.payload import Payload, ProjectedFile, top_level, validated

DATA: Final = "..data"
_NEW_DATA: Final = "..data_tmp"
_VERSION_MODE: Final = 0o755


def write(
    files: Filesystem, volume: str, payload: Payload, *, version: str, set_permissions: Callable[[], None]
) -> bool:
    """Make the volume hold exactly the payload. Returns whether anything was written.

    `version` names the new version's directory and begins with two dots; it must be new. `set_permissions` is called once
    the new files are there and before they are visible. Only paths and contents count as a difference; modes do not.
    Raises Invalid for a path that is not allowed, before anything is touched, and Transient.
    """
    wanted = validated(payload)
    old = files.read_link(f"{volume}/{DATA}")
    changed = old is None or _differs(files, f"{volume}/{old}", wanted)
    if changed:
        _write_version(files, f"{volume}/{version}", wanted)
        set_permissions()
        files.remove_file(f"{volume}/{_NEW_DATA}")
        files.make_link(version, f"{volume}/{_NEW_DATA}")
        files.rename(f"{volume}/{_NEW_DATA}", f"{volume}/{DATA}")
    _link_names(files, volume, top_level(wanted))
    _clean(files, volume, version if changed else old)
    return changed


def _differs(files: Filesystem, directory: str, wanted: dict[str, ProjectedFile]) -> bool:
    if set(files.list_files(directory)) != wanted.keys():
        return True
    return any(files.read_file(f"{directory}/{path}") != file.data for path, file in wanted.items())


def _write_version(files: Filesystem, directory: str, wanted: dict[str, ProjectedFile]) -> None:
    files.make_dir(directory, _VERSION_MODE)
    files.set_mode(directory, _VERSION_MODE)
    for path, file in sorted(wanted.items()):
        parent = path.rpartition("/")[0]
        if parent:
            files.make_dir(f"{directory}/{parent}", 0o777)
        files.write_file(f"{directory}/{path}", file.data, file.mode, uid=file.uid)


def _link_names(files: Filesystem, volume: str, names: set[str]) -> None:
    for name in sorted(names):
        if files.read_link(f"{volume}/{name}") is None:
            files.make_link(f"{DATA}/{name}", f"{volume}/{name}")
    for name in files.list_dir(volume):
        stale = name not in names and not name.startswith("..")
        # A directory here is a place for another mount, not one of ours.
        if stale and files.read_link(f"{volume}/{name}") is not None:
            files.remove_file(f"{volume}/{name}")


def _clean(files: Filesystem, volume: str, current: str | None) -> None:
    """Remove old versions, and what was left of writes that were cut off."""
    for name in files.list_dir(volume):
        if not name.startswith("..") or name in (DATA, current):
            continue
        if name == _NEW_DATA:
            files.remove_file(f"{volume}/{name}")
        else:
            files.remove_tree(f"{volume}/{name}")
