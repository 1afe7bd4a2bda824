"""Whether a training fitted too much, too little, or began in the wrong place."""

from __future__ import annotations

import numpy as np

from tests.quality.oracle.trace import Trace, Truth


def overfitted(trace: Trace) -> Truth:
    """Validation ends over its minimum by 5 % and twice its usual change, while train is lower than at that minimum."""
    least = int(trace.val.argmin())
    change = float(np.median(np.abs(np.diff(trace.val))))
    end = float(np.median(trace.val[-3:]))
    then = float(np.interp(trace.val_steps[least], trace.probe_steps, trace.probe))
    if end > trace.val[least] + max(0.05 * trace.val[least], 2 * change) and trace.end() < then:
        return Truth("overfitting", int(trace.val_steps[least]), frozenset({"memorising-noise"}), 0)
    return Truth("unclear", planted=0)


def unfinished(trace: Trace) -> Truth:
    """The probe still falls at the end: its last tenth lies under the tenth before by 1.5 % of all that was gained."""
    tenth = max(len(trace.probe) // 10, 2)
    last, previous = np.median(trace.probe[-tenth:]), np.median(trace.probe[-2 * tenth : -tenth])
    return Truth("undertrained" if previous - last > 0.015 * (trace.probe[0] - last) else "unclear", planted=0)


def off_at_start(trace: Trace) -> Truth:
    """The first loss is off ln C by more than .5."""
    if abs(trace.loss[0] - trace.chance) > 0.5:
        return Truth("initial-loss-off", 0, frozenset(), 0)
    return Truth("unclear", planted=0)
