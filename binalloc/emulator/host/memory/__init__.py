"""This room puts a launch's memory in place: buffers, textures, variables and pages, and the figures of all memory."""
