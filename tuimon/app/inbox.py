"""What other threads bring, handled in the event loop."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

from textual.app import App
from textual.message import Message


class Inbox:
    """Has messages handled by their handlers of the app, in the order in which they were put.

    The toolkit's own queue takes two turns of the event loop and a search for handlers through all classes; for a
    record of a live run that is as much work as drawing two panels. Nothing else is different.

    Args:
        app: whose handlers are called.
    """

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._loop: asyncio.AbstractEventLoop | None = None
        self._context = contextvars.Context()

    def open(self) -> None:
        """From now on messages can be put; to be called by a handler of the app."""
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()

    def put(self, message: Message, *, behind_keys: bool = False) -> None:
        """Has this message handled soon. Callable from any thread.

        Args:
            message: whose handler is called.
            behind_keys: in the toolkit's queue after all, behind the keys that wait there already: the pieces of a long
                history, each of which takes a while, leave them no turn otherwise.

        Raises:
            RuntimeError: the event loop has ended.
        """
        if behind_keys or self._loop is None:
            self._app.post_message(message)
        else:
            self._loop.call_soon_threadsafe(self._handle, message, context=self._context)

    def _handle(self, message: Message) -> None:
        try:
            getattr(self._app, message.handler_name)(message)
        except Exception as error:  # noqa: BLE001 - what goes wrong is the toolkit's to tell, as in its own handlers
            self._app.call_next(_fail, error)


def _fail(error: Exception) -> None:
    raise error
