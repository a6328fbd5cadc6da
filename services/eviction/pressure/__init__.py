"""Node pressure: which thresholds are met (`core`), which pod goes first (`ranking`), what it is told (`texts`); all pure.

`observe` reads the signals, `evictor` carries a pass out.
"""
