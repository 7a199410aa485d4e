"""This package has the parts of the two records of `state.records`, one for each mechanism."""
