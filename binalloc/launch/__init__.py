"""A launch file gives grid, block, arguments and reference of a kernel's run; launches are read and made here."""
