"""This package decides where a line of memory is placed in L2 and DRAM."""
