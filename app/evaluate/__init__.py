"""How good the rankings and refusals are, on questions with known answers."""
