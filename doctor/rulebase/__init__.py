"""Reading the rule base: model, load, conditions, lint, rule tests, pages."""
