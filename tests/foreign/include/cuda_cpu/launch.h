// Launches. prepare.py makes `kernel<<<grid, block, shared, stream>>>(arguments)` a call of what launch() gives.
#pragma once
#include "trace.h"

namespace cuda_cpu {

struct Stream {};
struct Config {
    dim3 grid, block;
    size_t shared;
};
inline Config config(dim3 grid, dim3 block, size_t shared = 0, Stream * = nullptr) { return {grid, block, shared}; }

template <class T> std::string argument(const T &value) {
    Trace &trace = Trace::the();
    if constexpr (std::is_pointer_v<T>) trace.typed((const void *)value, typeid(std::remove_pointer_t<T>).name());
    static const char digits[] = "0123456789abcdef";
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    std::string hex, found;
    for (unsigned char b : bytes) hex += digits[b >> 4], hex += digits[b & 15];
    if constexpr (std::is_pointer_v<T>) {
        const Place p = trace.find((const void *)value);
        if (p.known()) found = ",\"to\":{" + Trace::text(p) + "}";
    } else {
        found = trace.pointers(bytes, sizeof(T), 0);
    }
    return "{\"type\":\"" + std::string(typeid(T).name()) + "\",\"hex\":\"" + hex + "\"" + found + "}";
}

inline std::string triple(dim3 d) {
    return "[" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + "]";
}

/// Write the launch down and run it. function: its address, which a table of symbols names; 0 where there is none.
inline void launched(const Config &c, const char *name, const void *function, const std::string &arguments,
                     const std::function<void()> &body) {
    if (!c.grid.x || !c.grid.y || !c.grid.z) return;  // an error, which does nothing; programs do not look at it
    Trace &trace = Trace::the();
    trace.look("write");
    std::string plain;
    for (const char *p = name; *p; p++)
        if (*p != '"' && *p != '\\' && *p != '\n') plain += *p;
    trace.note("launch", "\"kernel\":\"" + plain + "\",\"function\":" + std::to_string((uintptr_t)function) +
                             ",\"grid\":" + triple(c.grid) + ",\"block\":" + triple(c.block) +
                             ",\"shared\":" + std::to_string(c.shared) + ",\"arguments\":[" + arguments + "]");
    run_grid(c.grid, c.block, c.shared, body);
    trace.look("read");
}

template <class... P> std::string arguments(const std::tuple<P...> &given) {
    std::string all;
    if (Trace::the().on())
        std::apply([&](const P &...v) { ((all += (all.empty() ? "" : ",") + argument(v)), ...); }, given);
    return all;
}

template <class... P> struct Launcher {
    Config c;
    const char *name;
    void (*kernel)(P...);
    void operator()(std::remove_cv_t<P>... a) const {
        std::tuple<std::remove_cv_t<P>...> given(a...);
        launched(c, name, (const void *)kernel, arguments(given), [&] { std::apply(kernel, given); });
    }
};

template <class... P> Launcher<P...> launch(const Config &c, const char *name, void (*kernel)(P...)) {
    return {c, name, kernel};
}

/// A kernel whose template arguments follow from those of its call.
template <class F> auto launch_deduced(const Config &c, const char *name, F call) {
    return [=](auto... a) {
        std::tuple<decltype(a)...> given(a...);
        launched(c, name, nullptr, arguments(given), [&] { std::apply(call, given); });
    };
}
}  // namespace cuda_cpu
