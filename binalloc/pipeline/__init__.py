"""From a binary and a request to the best rewritten binary that can be proven."""
