"""What papers state, as data, and which samples and machines stand in for theirs."""
