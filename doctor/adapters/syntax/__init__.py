"""Formats of files, edited in place: what is not changed stays as it is, byte for byte."""
