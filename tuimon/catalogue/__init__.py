"""The symptom-to-cause table: one Row per signature, data only.

Training breaks in three ways: it diverges, it goes NaN, or it stalls. Their causes are disjoint, so a reader first
settles which of the three it is, then which row, then what to look at; a fix never comes before its check.
"""

from tuimon.catalogue.divergence import DIVERGENCE
from tuimon.catalogue.fit import FIT
from tuimon.catalogue.nan import NAN
from tuimon.catalogue.plateau import PLATEAU
from tuimon.catalogue.row import Check, Row

__all__ = ["BY_SIGNATURE", "ROWS", "Check", "Row"]

ROWS: tuple[Row, ...] = (*NAN, *DIVERGENCE, *PLATEAU, *FIT)
BY_SIGNATURE: dict[str, Row] = {row.signature: row for row in ROWS}
