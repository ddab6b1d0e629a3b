"""Talk to what is outside the database: embedders, the cache, later models and rerankers."""
