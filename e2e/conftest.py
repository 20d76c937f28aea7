"""Scenarios: one promise a file."""
