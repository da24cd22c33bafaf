"""A local page where people see a game, play it and run their campaigns."""

from stackcast.studio.server import serve

__all__ = ["serve"]
