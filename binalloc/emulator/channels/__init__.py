"""This inner room says which memory a channel of DRAM belongs to, how its clock runs, and which request is next."""
