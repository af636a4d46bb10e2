"""The language of conditions: a small, frozen subset of Python's expressions over catalogue names."""

from doctor.rulebase.expression.check import Names, check
from doctor.rulebase.expression.evaluate import Evaluation, Lookup, evaluate
from doctor.rulebase.expression.parse import dotted_name, fact_names, parse, reads

__all__ = ["Evaluation", "Lookup", "Names", "check", "dotted_name", "evaluate", "fact_names", "parse", "reads"]
