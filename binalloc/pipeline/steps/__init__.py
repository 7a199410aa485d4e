"""The single steps of the pipeline, and what they pass on; `pipeline` puts them together."""
