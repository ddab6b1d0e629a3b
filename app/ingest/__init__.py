"""Documents in: load -> split -> embed -> store."""
