"""Pinned versions become files in the store."""
