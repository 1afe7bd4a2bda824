"""Static pictures of metrics: on a terminal by plotext, which nothing else imports, and as SVG."""

from tuimon.plots.subject import Onset, Subject, subject
from tuimon.plots.svg import svg
from tuimon.plots.terminal import terminal

__all__ = ["Onset", "Subject", "subject", "svg", "terminal"]
