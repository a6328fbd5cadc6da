"""Volumes that are files written here: what goes into them (pure), and how they are written so that nobody sees half of it."""
