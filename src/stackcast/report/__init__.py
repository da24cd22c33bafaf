"""Figures and pages: the only room that draws."""

from stackcast.report.continuous_terminal import describe_continuous_catalogue
from stackcast.report.files import write_solution
from stackcast.report.terminal import (
    describe_catalogue,
    describe_game,
    describe_solution,
    region_map,
)

__all__ = [
    "describe_catalogue",
    "describe_continuous_catalogue",
    "describe_game",
    "describe_solution",
    "region_map",
    "write_solution",
]
