"""An app that draws one Scene: a frame when something changed, as often as asked for and as the terminal takes it."""

from __future__ import annotations

import asyncio
import time

from rich.console import RenderableType
from rich.text import Text

from tuimon.app.following import FollowingApp, Place
from tuimon.app.terminal import State, cut_off, fault, only_clicks, terminal_state
from tuimon.panels.scene import Scene, Shows
from tuimon.panels.wire import Wire

EXIT_HUNG_UP = 129
"""What a shell says of a program that ended because its terminal was closed."""

SETTLED = 0.15
"""Seconds after the last change of size until all is drawn once more."""

READING_FPS = 5.0
"""Frames per second while a history is read: more would make the reading longer, and nobody sees a difference."""

STALLED = 0.1
"""Seconds until a terminal that took no output is asked again."""


class DrawingApp(FollowingApp):
    """See the module. A subclass says what the scene is.

    Args:
        place: what to follow; None when batches are posted by somebody else (a test).
        fps: frames per second at most.
    """

    def __init__(self, place: Place | None, fps: float) -> None:
        super().__init__(place)
        self._fps = fps
        self._frame: asyncio.TimerHandle | None = None
        self._settling: asyncio.TimerHandle | None = None
        self._sizes = 0
        self._drawn_at = self._answered_at = 0.0
        self._asked = False
        self.scene = Scene()
        self.panels: list[Shows] = []
        self.wire = Wire(self)

    def current(self) -> Scene:
        """The scene as it would be drawn now."""
        raise NotImplementedError

    def turn(self, before: Scene, scene: Scene) -> None:
        """The scene changes: what lies open is shown or hidden."""

    def request_frame(self) -> None:
        """A frame soon, when the frame rate allows: what a key changes waits for no frame of what arrived before it."""
        self._asked = True
        self._draw_at(self._answered_at + 1 / self._fps)

    def frame(self, reading: bool) -> None:
        """A frame of what arrived, from a handler that does nothing more: now, else when the frame rate allows.

        Args:
            reading: a history is being read; then few frames are enough, but a key gets its own at once.
        """
        due = self._drawn_at + 1 / (min(READING_FPS, self._fps) if reading else self._fps)
        if self._frame is None and due <= time.monotonic():
            self._draw()
        else:
            self._draw_at(due)

    def _draw_at(self, due: float) -> None:
        """Has a frame drawn at this time of the loop, unless one comes before."""
        loop = asyncio.get_running_loop()
        due = max(due, loop.time())
        if self._frame is not None:
            if self._frame.when() <= due:
                return
            self._frame.cancel()
        self._frame = loop.call_at(due, self.call_next, self._draw)

    def _draw(self) -> None:
        self._frame = None
        state = self.terminal_state
        if state == "ready":
            self.show()
        elif state == "gone":
            self.leave(EXIT_HUNG_UP)
        else:
            self._frame = asyncio.get_running_loop().call_later(STALLED, self.call_next, self._draw)

    @property
    def terminal_state(self) -> State:
        """Whether a frame can be drawn."""
        return "ready" if self.is_headless else terminal_state()

    def on_resize(self) -> None:
        self._sizes += 1
        if self._sizes == 1 or self.is_headless:
            return
        # The toolkit draws nothing where the size is again what it was, but the terminal has cut off cells meanwhile.
        if self._settling is not None:
            self._settling.cancel()
        self._settling = asyncio.get_running_loop().call_later(SETTLED, self.call_next, self._repaint)

    def _repaint(self) -> None:
        # None is left while the program ends.
        if self.screen_stack:
            self.screen.refresh(layout=True)

    def _continued(self, _: object) -> None:
        """The program was stopped, and others have used the terminal since: all of it is drawn again."""
        only_clicks(self._driver)
        self.screen.refresh()

    def leave(self, code: int) -> None:
        """Ends the program with this exit code, and restores the terminal if it is still there."""
        if self.terminal_state == "gone":
            cut_off(self._driver)
        self.exit(return_code=code)

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """Ends the program; first its threads, for which each of the toolkit's last steps would wait."""
        self.generation += 1
        self.stop_following()
        super().exit(result, return_code, message)

    def _fatal_error(self) -> None:
        """One line; the toolkit would print the source of every frame, from which nobody learns more."""
        self._exit_renderables.append(Text(fault(self._exception) if self._exception else "tuimon stopped", "bold"))
        self._close_messages_no_wait()

    def show(self) -> None:
        """Draws the present state; nothing while the program ends, when a frame that was due has no screen left."""
        if not self.screen_stack:
            return
        self._drawn_at = time.monotonic()
        if self._asked:
            self._asked, self._answered_at = False, self._drawn_at
        before, self.scene = self.scene, self.current()
        with self.wire:
            self.turn(before, self.scene)
            # Told one by one: to bind each of them to the scene costs more than all that they draw.
            for panel in self.panels:
                panel.tell(self.scene)
