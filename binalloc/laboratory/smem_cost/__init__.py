"""The smem-cost paper's experiment: its kernel, its costs, its report."""
