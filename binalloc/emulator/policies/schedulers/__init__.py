"""Which warp issues next."""
