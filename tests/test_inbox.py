"""What other threads bring to the app."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from textual.app import App

from tuimon.app.inbox import Inbox
from tuimon.app.messages import StatusChanged
from tuimon.follow import Status


class Told(App[None]):
    """Notes what it is told, and stumbles over trouble."""

    def __init__(self) -> None:
        super().__init__()
        self.inbox = Inbox(self)
        self.heard: list[str] = []
        self.asked: list[Any] = []

    def on_mount(self) -> None:
        self.inbox.open()

    def on_status_changed(self, message: StatusChanged) -> None:
        if message.status.state == "trouble":
            raise ValueError(message.status.text)
        self.heard.append(message.status.text)
        # What a handler of the toolkit may do: asking for the app is one of those things.
        self.asked.append(self.screen.app)


def put(app: Told, *statuses: Status) -> None:
    """Puts them from a thread of its own."""
    thread = threading.Thread(target=lambda: [app.inbox.put(StatusChanged(status)) for status in statuses])
    thread.start()
    thread.join()


async def test_what_a_thread_puts_is_handled_in_its_order_where_handlers_run() -> None:
    app = Told()
    async with app.run_test() as pilot:
        put(app, *(Status("live", str(number)) for number in range(20)))
        await pilot.pause()
        assert app.heard == [str(number) for number in range(20)]
        assert set(app.asked) == {app}


async def test_what_goes_wrong_in_a_handler_ends_the_program_as_it_does_in_the_toolkit() -> None:
    app = Told()
    running = app.run_test()
    pilot = await running.__aenter__()
    put(app, Status("trouble", "cannot go on"))
    await pilot.pause()
    with pytest.raises(ValueError, match="cannot go on"):
        await running.__aexit__(None, None, None)
