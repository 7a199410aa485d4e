"""This package analyses what the threads of a block do together: values that they have in common, and barriers."""
