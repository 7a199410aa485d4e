"""Kernels of our own in Warp."""

import warp as wp


@wp.kernel
def axpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def drift(place: wp.array(dtype=wp.vec3), speed: wp.array(dtype=wp.vec3), pull: wp.vec3, dt: float):
    i = wp.tid()
    v = speed[i] + pull * dt
    p = place[i] + v * dt
    if p[1] < 0.0:
        p = wp.vec3(p[0], -p[1], p[2])
        v = wp.vec3(v[0], -0.5 * v[1], v[2])
    place[i] = p
    speed[i] = v


@wp.kernel
def heat(now: wp.array2d(dtype=float), after: wp.array2d(dtype=float), rate: float):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < now.shape[0] - 1 and j < now.shape[1] - 1:
        around = now[i - 1, j] + now[i + 1, j] + now[i, j - 1] + now[i, j + 1]
        after[i, j] = now[i, j] + rate * (around - 4.0 * now[i, j])


@wp.kernel
def total(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()])


@wp.kernel
def turn(q: wp.array(dtype=wp.quat), v: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = wp.quat_rotate(wp.normalize(q[i]), v[i])


@wp.kernel
def waves(x: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    value = float(0.0)  # noqa: UP018  so Warp knows a variable that changes
    for k in range(1, 9):
        value += wp.sin(float(k) * x[i]) / float(k) + wp.exp(-x[i] * float(k))
    out[i] = wp.noise(wp.rand_init(7, i), value) + wp.randf(wp.rand_init(3, i))


@wp.func
def distance_to_ball(p: wp.vec3, radius: float) -> float:
    return wp.length(p) - radius


@wp.kernel
def march(out: wp.array(dtype=float), width: int):
    i = wp.tid()
    x, y = float(i % width) / float(width) - 0.5, float(i // width) / float(width) - 0.5
    direction = wp.normalize(wp.vec3(x, y, 1.0))
    at = wp.vec3(0.0, 0.0, -3.0)
    for _ in range(40):
        at += direction * distance_to_ball(at, 1.0)
    out[i] = wp.length(at)


@wp.kernel
def product_of_small(a: wp.array(dtype=wp.mat33), b: wp.array(dtype=wp.mat33), out: wp.array(dtype=wp.mat33)):
    i = wp.tid()
    out[i] = a[i] * wp.transpose(b[i]) + wp.inverse(a[i])
