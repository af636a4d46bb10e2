"""The report as one HTML file that fetches nothing and runs nothing."""
