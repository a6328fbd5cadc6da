"""What server publishes and answers: nothing of its own. It reads the others' tables and streams."""
