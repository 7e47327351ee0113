#pragma once
#include <algorithm>
#include <cstdint>

#include "backend/compute/cuda/runtime/host_device_code.hpp"

namespace dlscale::backend::cuda {

/// out[i] = function(in[0][i], in[1][i], …), computed in f32. A function takes an array of `inputs`
/// numbers. Threads take two packs of `width` elements, to have more loads in flight.
template <class In, class Out, int inputs, int width, class Function>
struct Map {
  static constexpr int packs_of_thread = 2;
  static constexpr std::uint64_t packs_of_team = std::uint64_t{team_size} * packs_of_thread;

  const In* in[inputs];
  Out* out;
  std::uint64_t elements;
  Function function;

  [[nodiscard]] std::int64_t threads() const {
    const std::uint64_t packs = (elements + width - 1) / width;
    return static_cast<std::int64_t>((packs + packs_of_team - 1) / packs_of_team * team_size);
  }

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const std::uint64_t first =
        std::uint64_t{thread} / team_size * packs_of_team + thread % team_size;
    const std::uint64_t whole = elements / width;
    Pack<In, width> loaded[packs_of_thread][inputs];
    DLSCALE_UNROLL
    for (int p = 0; p < packs_of_thread; ++p) {
      const std::uint64_t pack = first + static_cast<std::uint64_t>(p) * team_size;
      if (pack >= whole) continue;
      DLSCALE_UNROLL
      for (int k = 0; k < inputs; ++k) loaded[p][k] = load<width>(in[k] + pack * width);
    }
    DLSCALE_UNROLL
    for (int p = 0; p < packs_of_thread; ++p) {
      const std::uint64_t pack = first + static_cast<std::uint64_t>(p) * team_size;
      if (pack < whole) store(apply(loaded[p]), out + pack * width);
      if (pack == whole) finish(whole * width);
    }
  }

 private:
  DLSCALE_HOST_DEVICE Pack<Out, width> apply(const Pack<In, width> (&packs)[inputs]) const {
    Pack<Out, width> result;
    DLSCALE_UNROLL
    for (int i = 0; i < width; ++i) {
      float values[inputs];
      DLSCALE_UNROLL
      for (int k = 0; k < inputs; ++k) values[k] = to_float(packs[k].values[i]);
      result.values[i] = from_float<Out>(function(values));
    }
    return result;
  }

  /// Computes the elements after the last whole pack.
  DLSCALE_HOST_DEVICE void finish(std::uint64_t first) const {
    for (std::uint64_t i = first; i < elements; ++i) {
      float values[inputs];
      DLSCALE_UNROLL
      for (int k = 0; k < inputs; ++k) values[k] = to_float(in[k][i]);
      out[i] = from_float<Out>(function(values));
    }
  }
};

/// Number of elements of the wider of two types that fit into 16 bytes.
template <class In, class Out>
inline constexpr int common_width = std::min(full_width<In>, full_width<Out>);

struct Identity {
  DLSCALE_HOST_DEVICE float operator()(const float (&x)[1]) const { return x[0]; }
};

struct Rectified {
  /// NaN stays NaN.
  DLSCALE_HOST_DEVICE float operator()(const float (&x)[1]) const { return x[0] < 0 ? 0 : x[0]; }
};

/// Maps (y, dy) to dy where y is positive, else to 0.
struct RectifiedGradient {
  DLSCALE_HOST_DEVICE float operator()(const float (&v)[2]) const { return v[0] > 0 ? v[1] : 0; }
};

struct Added {
  DLSCALE_HOST_DEVICE float operator()(const float (&x)[2]) const { return x[0] + x[1]; }
};

struct AddedAndRectified {
  DLSCALE_HOST_DEVICE float operator()(const float (&x)[2]) const {
    return Rectified()({x[0] + x[1]});
  }
};

}  // namespace dlscale::backend::cuda
