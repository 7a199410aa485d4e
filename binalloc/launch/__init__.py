"""Launch files: grid, block, arguments and references of a kernel's run."""
