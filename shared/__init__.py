"""What more than one daemon needs. Nothing in here imports a service."""
