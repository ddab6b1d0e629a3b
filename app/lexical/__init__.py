"""The lexical half of search: tokens, BM25, immutable segments. Pure: no database, no network."""
