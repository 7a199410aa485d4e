"""Which SM takes which block when."""
