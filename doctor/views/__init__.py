"""Views: a report in, something to look at out. They compute nothing that is not about showing."""
