"""HTTP/1.1 on asyncio streams with h11: messages, one connection, listeners."""
