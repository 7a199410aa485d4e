"""This room sets a paper's figures beside the emulated ones, as JSON, as text and as a page for a browser."""
