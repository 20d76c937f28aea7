"""Probes measure from outside and change nothing."""
