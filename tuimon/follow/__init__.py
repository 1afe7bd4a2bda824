"""When to read: the Follower, the only thread between a run on disk and the screen."""

from tuimon.follow.follower import Follower, Status

__all__ = ["Follower", "Status"]
