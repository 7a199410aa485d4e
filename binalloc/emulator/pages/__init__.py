"""Where a page of memory lies in DRAM."""
