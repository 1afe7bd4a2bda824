"""The commands of the `tuimon` program, one file each.

A command module has `configure(parser)`, which adds its arguments, and `run(args) -> int`, which does the work and
returns the exit code. Both stay free of heavy imports at module level: `tuimon --help` must answer at once.
"""
