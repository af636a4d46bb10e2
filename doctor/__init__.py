"""pdoctor: a diagnostic expert system for distributed training. This package is the reasoning half."""

__version__ = "0.1.0"
