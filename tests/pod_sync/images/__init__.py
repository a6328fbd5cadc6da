"""Tests of pod_sync's room images."""
