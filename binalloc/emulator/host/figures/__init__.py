"""This room turns the counters of a run into figures: totals, intervals, ranges of cycles."""
