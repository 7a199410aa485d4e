"""Instructions over the lanes of a warp."""
