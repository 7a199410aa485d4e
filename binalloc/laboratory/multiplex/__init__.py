"""The experiments of "Shared Memory Multiplexing" (PACT 2012) are repeated here, on samples and emulated machines."""
