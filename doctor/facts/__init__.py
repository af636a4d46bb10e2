"""What can be known: entities, facts, events, units, and the store that holds them with their sources."""
