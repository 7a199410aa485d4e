"""Parts of the two records of `state.records`, one for what each mechanism keeps in them."""
