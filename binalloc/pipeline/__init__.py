"""The pipeline takes a binary and a request, and makes the best rewritten binary that can be proven."""
