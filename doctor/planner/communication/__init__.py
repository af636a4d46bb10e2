"""Communication of a training step: how much of it, over which links, and how long it takes."""
