"""Who asks (`authentication`), and may they (`authorization`)."""
