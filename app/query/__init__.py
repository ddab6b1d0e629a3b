"""Questions in, ranked passages and cited answers out. Start with `pipeline`."""
