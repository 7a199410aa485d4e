"""Experiments of papers, and what comes of them: nothing else of the package stands on this."""
