"""Brings probes and the engine together: files in, report out. Every command drives this."""

from doctor.session.analyze import analyze_paths
from doctor.session.inputs import InputError
from doctor.session.notes import Note
from doctor.session.report import Input, Patched, Report

__all__ = ["Input", "InputError", "Note", "Patched", "Report", "analyze_paths"]
