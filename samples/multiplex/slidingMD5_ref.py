"""MD5 of every window by Python's hashlib; the launch's state must be RFC 1321's."""

import hashlib

import numpy as np

START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)


def reference(inputs, launch):
    if tuple(inputs[name] for name in "abcd") != START:
        raise ValueError("hashlib starts from RFC 1321's state only")
    windows, window, step = inputs["windows"], inputs["window"], inputs["step"]
    data = inputs["data"][: inputs["bytes"]].tobytes().ljust((windows - 1) * step + window, b"\0")
    digests = [hashlib.md5(data[w * step : w * step + window], usedforsecurity=False).digest() for w in range(windows)]
    result = inputs["digests"].copy()
    result[:windows] = np.frombuffer(b"".join(digests), "<u4").reshape(-1, 4)
    return {"digests": result}
