"""The serving certificate: given by files, or made here once and kept."""
