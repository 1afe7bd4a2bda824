"""Text logs: what trainers print for people. One mechanism for all of them, with its peculiarities in tables.

    line -> `lex` cuts it into numbers and the text between them
         -> `plan` says, once for each layout of that text, which number is which metric (the layouts are remembered)
         -> `steps` says which step the line belongs to
         -> `reader` asks for evidence that the layout is that of a record, and makes rows
"""

from tuimon.sources.text.log import TextLog

__all__ = ["TextLog"]
