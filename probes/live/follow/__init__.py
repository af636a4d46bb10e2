"""Follows files that a running job writes to: what is new in each, turn by turn, nothing twice and nothing left out."""

from __future__ import annotations

from probes.live.follow.follower import Follower
from probes.live.follow.model import Piece, Remark, Turn
from probes.live.follow.targets import Files, Processes, Targets

__all__ = ["Files", "Follower", "Piece", "Processes", "Remark", "Targets", "Turn"]
