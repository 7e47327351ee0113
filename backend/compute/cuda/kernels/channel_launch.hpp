#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "backend/compute/cuda/kernels/channels.hpp"
#include "backend/compute/cuda/kernels/own_operation.hpp"

namespace dlscale::backend::cuda {

/// Calls call.operator()<View>() with the Channels that T and the addresses of a tensor allow.
template <class T, class Call>
void with_channels(const TensorDesc& desc, std::initializer_list<const void*> addresses,
                   const Call& call) {
  const Order order = order_of(desc);
  with_width<T>(together(desc.dims, order), addresses,
                [&]<int width>(std::integral_constant<int, width>) {
                  if (order == Order::nhwc) {
                    call.template operator()<Channels<width, Order::nhwc>>();
                  } else {
                    call.template operator()<Channels<width, Order::nchw>>();
                  }
                });
}

/// Enqueues both stages of a sum over the units of `view`. `partials` has room for
/// partial_bytes() of the tiling.
template <class Launcher, class View, class Part, class Finish>
void launch_sums(const Launcher& launcher, std::string_view name, const View& view,
                 const Part& part, const Tiling& tiling, std::byte* partials, Finish finish) {
  using Sums = typename Part::Sums;
  auto* sums = reinterpret_cast<Sums*>(partials);
  launcher.teams(name, PartialSums<View, Part>{view, part, tiling, sums}, tiling.teams,
                 tiling.slices);
  const FinishedSums<Sums, Finish> second{sums, view.groups() * View::lanes, tiling.slices, finish};
  launcher.teams(name, second, second.teams(), 1);
}

template <class View, class Launcher>
Tiling tiling_of(const Launcher& launcher, const View& view) {
  return {view.groups(), view.units(), View::least_groups, launcher.processors()};
}

/// Size of the partial sums for any tiling of launch_sums(). A tiling has four teams a processor,
/// or one slice; a team takes up to 32 groups of up to 8 channels.
inline std::size_t partial_bytes(std::int64_t channels, int processors, std::size_t sums_bytes) {
  const std::int64_t most_teams = 4 * std::int64_t{processors};
  const std::int64_t sums =
      std::min((most_teams + 1) * channels, std::max(channels, most_teams * 32 * 8));
  return static_cast<std::size_t>(sums) * sums_bytes;
}

}  // namespace dlscale::backend::cuda
