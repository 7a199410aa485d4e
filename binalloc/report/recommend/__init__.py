"""This room reports recommendations of how many blocks to run: as JSON, and from that as text and as a page."""
