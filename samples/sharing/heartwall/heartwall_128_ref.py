"""The points' tracks by correlation coefficients in double precision; templates in heartwall_128.cu's roundings."""

import numpy as np

from binalloc.emulator.arithmetic.float32_arrays import fma32


def reference(inputs, launch):
    width, height, stride = inputs["width"], inputs["height"], inputs["frame_stride"]
    radius, reach, rise = inputs["radius"], inputs["reach"], inputs["rise"]
    side = 2 * radius + 1
    frames = [
        inputs["film"].reshape(-1)[f * stride : f * stride + width * height].reshape(height, width)
        for f in range(inputs["frames"])
    ]
    out = {name: inputs[name].copy() for name in ("tracks", "templates")}
    for k, (x, y) in enumerate(inputs["points"]):
        pattern = frames[0][y - radius : y + radius + 1, x - radius : x + radius + 1]
        for f, frame in enumerate(frames[1:]):
            best = (-2.0, 0, 0)
            for left in range(x - reach - radius, x + reach - radius + 1):
                for top in range(y - rise - radius, y + rise - radius + 1):
                    if 0 <= left <= width - side and 0 <= top <= height - side:
                        part = frame[top : top + side, left : left + side]
                        found = np.corrcoef(part.reshape(-1).astype(float), pattern.reshape(-1).astype(float))[0, 1]
                        best = max(best, (found, left, top), key=lambda one: one[0])
            _, left, top = best
            x, y = left + radius, top + radius
            out["tracks"][k, f] = x, y
            part = frame[top : top + side, left : left + side]
            pattern = fma32(np.float32(inputs["learning"]), part - pattern, pattern)
        out["templates"][k] = pattern.reshape(-1)
    return out
