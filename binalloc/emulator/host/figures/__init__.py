"""What a run has counted: totals, intervals, ranges of cycles."""
