"""Everything that gathers facts: readers of saved files, and probes of a node or a running job."""
