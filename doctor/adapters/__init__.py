"""A job's configuration in the user's framework and the planner's neutral settings, both ways.

`registry.adapter_for(path, text)` finds the adapter of a file; its `read` gives the neutral settings with their lines,
its `render` writes a change into the file's own text, and `diff.unified` shows that as a patch.
"""
