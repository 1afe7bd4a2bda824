"""Where a write may hang, for the writer."""

from __future__ import annotations

import os

_LOCAL = frozenset(
    ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "vfat", "exfat", "overlay",
     "tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs")
)  # fmt: skip


def may_hang(path: str) -> bool:
    """Whether `path` lies on a file system that is not known to be local, by the mount table, which cannot hang."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
            mounts = [(parts[4].replace("\\040", " "), parts[parts.index("-") + 1]) for parts in map(str.split, table)]
    except (OSError, ValueError, IndexError):
        return False  # not Linux: told by the first slow write

    def remote(place: str) -> bool:
        over = [(point, kind) for point, kind in mounts if f"{place}/".startswith(point.rstrip("/") + "/")]
        # Of equally long mount points the last one is on top.
        return bool(over) and max(enumerate(over), key=lambda at: (len(at[1][0]), at[0]))[1][1] not in _LOCAL

    # As written first: following links on a dead network mount would hang here.
    try:
        return remote(path) or remote(os.path.realpath(path))
    except OSError:  # a relative path whose working directory is gone
        return False
