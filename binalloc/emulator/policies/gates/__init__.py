"""A gate keeps a warp from issuing although its turn could come."""
