"""Logs and metrics of one daemon."""
