"""This room rewrites samples and runs them before and after, for `binalloc demo`: single launches and programs."""
