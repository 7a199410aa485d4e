"""This room reads watchpoints and places to stop, as users write them, and describes the warp that has stopped."""
