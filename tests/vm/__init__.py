"""Tests on an emulated machine with cgroup v2 (`deploy.test_machine.vm`), where this one may have v1."""
