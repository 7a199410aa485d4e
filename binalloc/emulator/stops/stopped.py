"""A run that has come to where it was to stop."""

from __future__ import annotations

from binalloc.emulator.host.device import Device


class Stopped(Exception):
    """Raised by `run` when a warp is about to execute an instruction at which, or touch bytes of which, a listener of
    the run's log has asked to stop. The instruction is issued, and nothing of it has happened yet."""

    def __init__(self, device: Device) -> None:
        super().__init__("stopped at a break")
        self.device = device
