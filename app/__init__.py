"""ragledger: hybrid retrieval and cited answers on PostgreSQL, with every score in a table."""

__version__ = "0.1.0"
