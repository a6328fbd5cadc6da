"""Tests of eviction."""
