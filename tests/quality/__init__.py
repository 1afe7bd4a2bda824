"""The project's own labelled corpus: real small torch trainings, generated rather than stored, and how they are judged.

`python -m tests.quality` trains them (or takes them from its cache), feeds each to the Monitor through the public path
(Batch -> Monitor.feed -> Snapshot), and prints the table that stands in the README.

The line: networks and worlds (what is trained on what) -> recipes (one row of the table: network, optimizer, fault,
seeds) -> training (one stack of seeds, trained at once) -> oracle (what the run really did) -> variants (how it is
logged) -> judge and tally (what the Monitor said of it).
"""
