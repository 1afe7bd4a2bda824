"""Thin adapters that let a trainer write through `tuimon.RunWriter`.

Each module imports its trainer, and nothing in tuimon imports them.
"""
