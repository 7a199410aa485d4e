"""This reference finds the word in all records at once, letter by letter."""

import numpy as np


def reference(inputs, launch):
    records = inputs["inputKeys"]
    word = np.frombuffer(int(inputs["word"]).to_bytes(4, "little"), np.uint8)
    key = np.full(len(records), 2166136261, np.uint64)
    for part in np.ascontiguousarray(records).view("<u4").T:
        key = (key ^ part) * np.uint64(16777619) % np.uint64(2**32)
    windows = np.lib.stride_tricks.sliding_window_view(records, 4, axis=1)
    places = (windows == word).all(axis=2).sum(axis=1)
    return {"intermediate": np.stack([key.astype(np.uint32).view(np.int32), places.astype(np.int32)], axis=1)}
