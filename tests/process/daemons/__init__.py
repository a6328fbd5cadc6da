"""Small daemons with the manners of the real ones, for tests of the supervisor itself."""
