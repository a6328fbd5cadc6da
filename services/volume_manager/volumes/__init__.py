"""Volume types, a file each. A new one is a file here and a line in `registry.py`."""
