"""Tests of pod_sync's room runtime."""
