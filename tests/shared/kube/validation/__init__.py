"""Tests of the same folder name in the project."""
