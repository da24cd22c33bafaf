"""A local page where people see a game, play it and run their campaigns."""
