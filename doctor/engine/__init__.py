"""Reasoning: candidates, belief, folding of consequences, roots, the next best step."""
