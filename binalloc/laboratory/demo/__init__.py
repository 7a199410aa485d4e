"""What `binalloc demo` prints: samples of one launch, and programs of many, before and after."""
