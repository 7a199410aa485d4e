"""Where a kernel's parameters go, and what is done with them there."""
