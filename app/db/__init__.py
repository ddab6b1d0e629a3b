"""PostgreSQL: the pool, the named statements, one module per aggregate. SQL rows stop here.

Every function takes the connection first; the caller owns the transaction.
"""
