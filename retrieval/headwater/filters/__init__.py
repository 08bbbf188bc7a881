"""Which passages a question is asked of, by what their metadata say: a narrower search, never a permission.

The metadata are those that a hit shows: the document's over the passage's own.
"""

from headwater.filters.conditions import OPERATORS, Condition, Filter, Operator
from headwater.filters.parse import parse_filter
from headwater.filters.sql import filter_parameters, filter_predicate

__all__ = ["OPERATORS", "Condition", "Filter", "Operator", "filter_parameters", "filter_predicate", "parse_filter"]
