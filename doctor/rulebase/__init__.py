"""Reading the rule base: model, load, conditions, lint, rule tests, pages."""

from doctor.rulebase.errors import RuleError
from doctor.rulebase.load import Loaded, load_rulebase, read_rulebase
from doctor.rulebase.model import RuleBase

__all__ = ["Loaded", "RuleBase", "RuleError", "load_rulebase", "read_rulebase"]
