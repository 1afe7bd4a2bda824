"""The layouts of lines that a text log has shown so far, and what each of them means."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import blake2b

from tuimon.sources.text.lex import pattern
from tuimon.sources.text.plan import Plan, plan

MOST_LAYOUTS = 1024
"""Layouts that are remembered. A training has a few dozen, with bars a few hundred; what is no log, ever new ones."""

LONGEST_KEY = 2048
"""Characters of a layout's text that are remembered as they are; of a longer one it is the digest."""

QUICK = 6
"""Layouts that are tried first; a training loop prints one to four kinds of lines."""

MOST_USES = 10_000
"""Uses of a layout before its pattern, which fell out of use meanwhile, is made anew."""


class Layouts:
    """Plans by layout, and patterns of the layouts that came most often.

    Attributes:
        quick: (matches, its plan, whether a record of it names its step) of the layouts that are tried first.
        plans: layout -> plan.
    """

    def __init__(self) -> None:
        self.quick: list[tuple[Callable[[str], re.Match[str] | None], Plan, bool]] = []
        self.plans: dict[str | bytes, Plan] = {}

    def plan(self, parts: Sequence[str]) -> Plan:
        """What a line means that was cut into `parts`: text and number in turn."""
        text = "\0".join(parts[::2])
        key = text if len(text) <= LONGEST_KEY else blake2b(text.encode("utf-8", "surrogatepass")).digest()
        known = self.plans.get(key)
        if known is None:
            if len(self.plans) >= MOST_LAYOUTS:
                self.plans = {layout: old for layout, old in self.plans.items() if old.accepted}
                if len(self.plans) >= MOST_LAYOUTS:
                    self.plans.clear()
            known = self.plans[key] = plan(parts[::2])
        return known

    def used(self, known: Plan, line: str, numbers: Sequence[str]) -> None:
        """Counts a use; the third has lines of this layout recognised at a glance, if it is that of a record."""
        known.uses += 1
        if known.uses != 3 or not known.accepted:
            return
        expression = pattern(line, numbers)
        if expression is not None:
            self.quick.insert(0, (expression.fullmatch, known, known.direct))
            del self.quick[QUICK:]
            known.uses = -MOST_USES
