"""Text logs: what trainers print for people. One mechanism for all of them, with its peculiarities in tables.

A line is cut into numbers and the text between them (`lex`). What each number is, is worked out once for each layout of
that text (`plan`, `naming`). A layout must show that it is a record's (`evidence`); then its lines get a step (`steps`)
and become rows (`reader`). Tables with columns have a way of their own (`tables`), and so have exceptions that speak of
the loss (`notices`).
"""

from tuimon.sources.text.log import TextLog

__all__ = ["TextLog"]
