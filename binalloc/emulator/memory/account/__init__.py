"""This inner room has what is counted and logged of DRAM's commands, and decides nothing."""
