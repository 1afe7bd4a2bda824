"""The writer: one JSON line per step, appended by the training process (stdlib only).

This folder and `record.py` can be copied alone, side by side or into a package, into a training environment where
nothing can be installed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
import weakref
from collections.abc import Callable, Mapping
from types import TracebackType

from .append import BUFFER_BYTES, CLOSE_SECONDS, RETRY_SECONDS, SLOW_SECONDS, Appender, tell
from .encode import (
    ABORTED,
    END,
    FARTHEST_STEP,
    FORMAT_VERSION,
    LINE_BYTES,
    NAME_LENGTH,
    encode,
    key,
    plain,
    scalar,
    whole,
)
from .mounts import may_hang

__all__ = ["BUFFER_BYTES", "CLOSE_SECONDS", "SLOW_SECONDS", "RunWriter"]

NAMES = 4096
"""Metric names whose encoding is kept; the rest are encoded anew each time."""


class RunWriter:
    """Appends the log of one training run to a file.

        with tuimon.RunWriter("run.jsonl", meta={"num_classes": 10}) as run:
            for step in range(steps):
                ...
                run.log(step, loss=loss, grad_norm=norm, lr=lr)

    What it promises:

    - It never raises into the training. On stderr it says once that writes fail, once that values are left out, and at
      the end how many lines were lost.
    - Each record is one line of strict JSON, handed to the kernel by one write to a file opened for appending, before
      `log` returns. Several threads, processes and ranks may write one file. A killed process loses at most the line
      in flight, and never leaves half a line in the middle.
    - While the file cannot be written (disk full, I/O error, directory gone, read-only, descriptor closed by somebody
      else) lines are kept, at most `BUFFER_BYTES` of them, then the oldest are dropped and counted. Attempts go on once
      a second and at `close`; lines written to a file that was deleted meanwhile are written again to the new one.
    - Where a write can hang (a network file system, any unknown one, or after a write took `SLOW_SECONDS`) a thread
      writes from that same bounded buffer, so that `log` never waits for the file; a killed process then loses what is
      in the buffer. `close` and the interpreter's exit wait at most `CLOSE_SECONDS`. On a local disk `log` waits for
      the kernel to take the line: a first write that stalls there stalls the training for as long.
    - A forked child opens the file anew; what the parent still has to write stays the parent's.
    - The log says how the run ended, so that a finished one is not taken for a stalled one: a note "end" when the
      writer is closed or its process exits, "aborted" with the exception's class when an exception left the `with`
      block or ended the process. Only the process that opened the writer says so; a killed one says nothing.

    Attributes:
        path: the file, as an absolute path.
        skipped: values left out because they are no numbers.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        run: str | None = None,
        meta: Mapping[str, object] | None = None,
        background: bool | None = None,
        retry: float = RETRY_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Opens `path` for appending (making its directories) and writes a header line.

        Args:
            path: the file; an existing one is continued, and the new header marks the resume.
            run: name of the run; the file's name without it.
            meta: what the diagnosis can use (`num_classes`, `class_counts`, `precision`, `clip_norm`, `optimizer`,
                `momentum`, `batch_size`, `total_steps`, `objective`, `loss_smoothing`), and anything else.
            background: write from a thread; None decides by the file system.
            retry: seconds between attempts while the file cannot be written.
            clock: seconds since 1970, for the lines' times.
        """
        self.path = os.fsdecode(path)
        with contextlib.suppress(OSError):  # the working directory is gone: said when the file cannot be opened
            self.path = os.path.abspath(self.path)
        self.skipped = 0
        self._clock = clock
        self._step: int | None = None  # of the last record
        self._ended = False
        self._owner = os.getpid()
        self._keys: dict[str, str] = {}
        header = self._header(run if run is not None else os.path.splitext(os.path.basename(self.path))[0], meta)
        self._lines = Appender(self.path, header, retry, may_hang(self.path) if background is None else background)
        _writers.add(self)

    def _header(self, run: object, meta: Mapping[str, object] | None) -> bytes:
        header: dict[str, object] = {"tuimon": FORMAT_VERSION}
        try:
            started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock()))
            header |= {"run": str(run)[:NAME_LENGTH], "started": started}
            line, why = encode({**header, "meta": dict(meta or {})}), "too long"
        except Exception as error:  # noqa: BLE001 -- a training must not fail because of what describes it
            line, why = None, type(error).__name__
        if line is None:
            tell(f"the header is written without meta: {why}")
        return line or encode(header) or b""

    def log(
        self,
        step: int,
        *,
        loss: object = None,
        val_loss: object = None,
        grad_norm: object = None,
        lr: object = None,
        **metrics: object,
    ) -> None:
        """Writes one record.

        Args:
            step: optimizer step, any integer type.
            loss: training loss of this step.
            val_loss: validation loss, on the steps that have one.
            grad_norm: global L2 norm of the gradients before clipping, as `clip_grad_norm_` returns it.
            lr: learning rate.
            metrics: further numbers, under any names.

        Values are numbers, or whatever gives one by `.item()` or `float()`: numpy scalars, tensors of one element (a
        tensor on a GPU makes this call wait for the GPU). None is left out; anything else is left out and counted.
        """
        try:
            if type(step) is not int:
                step = whole(step)
            keys = self._keys
            parts = [f'{{"step": {step}, "time": {self._clock():.3f}']
            named = {"loss": loss, "val_loss": val_loss, "grad_norm": grad_norm, "lr": lr}
            for name, value in {**named, **metrics}.items() if metrics else named.items():
                if value is None:
                    continue
                text = keys.get(name) or self._key(name)
                if type(value) is float and value - value == 0.0:
                    parts.append(text + repr(value) if text else self._skip(name, "the name is too long"))
                else:
                    parts.append(self._field(name, text, value))
            parts.append("}\n")
            line = "".join(parts).encode()
            if len(line) > LINE_BYTES or not -FARTHEST_STEP <= step <= FARTHEST_STEP:
                self._lines.lose(1, "a record is too long, or its step beyond 64 bits")
            else:
                self._step = step
                self._lines.add(line)
        except Exception as error:  # noqa: BLE001 -- whatever is wrong, the training goes on
            self._lines.lose(1, f"a record could not be written: {type(error).__name__}")

    def note(self, step: int | None, name: str, /, **fields: object) -> None:
        """Writes a remark: `note(412, "checkpoint", file="412.pt")`. Fields may be texts, numbers, lists and dicts."""
        try:
            first = {"step": None if step is None else whole(step), "note": str(name)[:NAME_LENGTH]}
            line = encode({**fields, **first, "time": round(self._clock(), 3)}) or encode({**first, "cut": True})
            if line:
                self._lines.add(line)
        except Exception as error:  # noqa: BLE001 -- as in log
            self._lines.lose(1, f"a note could not be written: {type(error).__name__}")

    def close(self, *, ended: bool = True) -> None:
        """Notes the end and writes what is still kept, waiting at most `CLOSE_SECONDS`.

        Later calls of `log` are counted as dropped.

        Args:
            ended: False when somebody else goes on with this run: nothing is said of its end.
        """
        self._ended = self._ended or not ended
        self._end(None)

    def _end(self, kind: type[BaseException] | None) -> None:
        """Closes the log with the last note: the run ended, or an exception of class `kind` ended it."""
        ended, self._ended = self._ended, True
        if not ended and os.getpid() == self._owner:
            if kind is None:
                self.note(self._step, END)
            else:
                self.note(self._step, ABORTED, error=kind.__name__)
        self._lines.close()

    @property
    def written(self) -> int:
        """Lines in the file, headers among them."""
        return self._lines.written

    @property
    def failed(self) -> int:
        """Attempts to write that failed."""
        return self._lines.failed

    @property
    def dropped(self) -> int:
        """Lines that are lost."""
        return self._lines.dropped

    def __enter__(self) -> RunWriter:  # noqa: PYI034 -- typing.Self is Python 3.11
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(None if isinstance(error, SystemExit) and not error.code else kind)

    def __del__(self) -> None:
        if hasattr(self, "_lines"):
            self.close()

    def _key(self, name: str) -> str:
        """The text of a metric's name, empty when it is too long."""
        text = key(name) if len(name) <= NAME_LENGTH else ""
        if len(self._keys) < NAMES and text:
            self._keys[name] = text
        return text

    def _field(self, name: str, text: str, value: object) -> str:
        """What stands in the line for a value that is no finite float, which may be nothing."""
        try:
            number = scalar(value)
        except Exception:  # noqa: BLE001 -- .item() and __float__ of foreign types raise whatever they like
            number = None
        if number is None:
            return self._skip(name, f"its value ({type(value).__name__}) is no number")
        if not text:
            return self._skip(name, "the name is too long")
        kept = plain(number)
        return f'{text}"{kept}"' if isinstance(kept, str) else text + repr(number)

    def _skip(self, name: str, why: str) -> str:
        """Counts a value left out, tells the first one; returns what stands in the line for it: nothing."""
        self.skipped += 1
        if self.skipped == 1:
            tell(f"metric {name[:40]!r} is left out: {why}")
        return ""


_writers: weakref.WeakSet[RunWriter] = weakref.WeakSet()


def _at_exit() -> None:
    # Set where an exception ended the program; in an interactive session it is only the last one that was shown.
    kind = None if hasattr(sys, "ps1") else getattr(sys, "last_type", None)
    for writer in list(_writers):
        writer._end(kind)  # noqa: SLF001 -- of this module


def _after_fork() -> None:
    for writer in list(_writers):
        writer._lines.after_fork()  # noqa: SLF001 -- of this module


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
