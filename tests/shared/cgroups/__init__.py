"""Tests of `shared.cgroups`; `recorded/` holds files of real groups of both versions."""
