"""Reasoning: candidates, belief, folding of consequences, roots, the next best step."""

from doctor.engine.diagnose import diagnose, explain_rule

__all__ = ["diagnose", "explain_rule"]
