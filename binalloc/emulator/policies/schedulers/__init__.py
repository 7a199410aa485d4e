"""A warp scheduler chooses the warp that issues next."""
