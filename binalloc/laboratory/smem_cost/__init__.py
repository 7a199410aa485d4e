"""This room repeats the smem-cost paper's experiment: its kernel, the measured costs, and the report."""
