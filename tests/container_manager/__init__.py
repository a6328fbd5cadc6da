"""Tests of container_manager."""
