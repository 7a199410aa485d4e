"""This room has the single steps of the pipeline and the records they pass on; `pipeline` puts them together."""
