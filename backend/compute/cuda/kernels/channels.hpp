#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "backend/compute/cuda/kernels/own_operation.hpp"
#include "backend/compute/cuda/runtime/host_device_code.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"

namespace dlscale::backend::cuda {

/// A tensor as groups of channels, for work channel by channel over all images and pixels. A group
/// consists of units, packs of `width` elements. In nhwc order a pack is `width` channels of a
/// pixel; in nchw order it is `width` pixels of the group's single channel.
template <int pack, Order order>
class Channels {
 public:
  static constexpr int width = pack;
  static constexpr int lanes = order == Order::nhwc ? width : 1;  ///< channels of a group
  static constexpr int repeats = width / lanes;  ///< elements of a channel in a unit
  /// Least number of neighbouring groups a team should take, so that it reads contiguous memory.
  static constexpr std::uint32_t least_groups = order == Order::nhwc ? 8 : 1;

  explicit Channels(const Dims& dims)
      : groups_(dims[1] / lanes), plane_(dims[2] * dims[3] / repeats) {
    units_ = static_cast<std::uint32_t>(dims[0] * dims[2] * dims[3] / repeats);
  }

  DLSCALE_HOST_DEVICE std::uint32_t groups() const { return groups_.divisor(); }
  DLSCALE_HOST_DEVICE std::uint32_t units() const { return units_; }
  DLSCALE_HOST_DEVICE std::uint64_t offset(std::uint32_t group, std::uint32_t unit) const {
    if constexpr (order == Order::nhwc) {
      return (std::uint64_t{unit} * groups() + group) * width;
    } else {
      const auto [image, at] = plane_.split(unit);
      return ((std::uint64_t{image} * groups() + group) * plane_.divisor() + at) * width;
    }
  }

  /// Assigns a thread its group and slot, with `slots` threads a group. Consecutive threads take
  /// contiguous elements.
  struct Share {
    std::uint32_t group;
    std::uint32_t slot;
  };
  DLSCALE_HOST_DEVICE Share share(std::uint32_t thread, const Divisor& slots) const {
    if constexpr (order == Order::nhwc) {
      const auto [slot, group] = groups_.split(thread);
      return {group, slot};
    } else {
      const auto [group, slot] = slots.split(thread);
      return {group, slot};
    }
  }

 private:
  Divisor groups_;
  Divisor plane_;  ///< units of a plane; nchw
  std::uint32_t units_ = 0;
};

/// Operation that follows in the same kernel.
enum class Then { nothing, relu };

/// Number of contiguous elements from which a Channels can form its packs.
inline std::int64_t together(const Dims& dims, Order order) {
  return order == Order::nhwc ? dims[1] : dims[2] * dims[3];
}

/// out = part(in…) element by element, with coefficients of the element's channel that a thread
/// reads once for its units. A Part has `inputs`, the type `Coefficients`, coefficients(group) and
/// value(coefficients, lane, elements).
template <class T, class View, class Part>
struct ChannelMap {
  static constexpr int units_of_thread = 4;
  static constexpr int width = View::width;
  static constexpr int inputs = Part::inputs;

  View view;
  const T* in[inputs];
  T* out;
  Part part;
  Divisor slots;

  ChannelMap(const View& of, Part with, T* to)
      : view(of),
        in{},
        out(to),
        part(with),
        slots((std::int64_t{of.units()} + units_of_thread - 1) / units_of_thread) {}

  [[nodiscard]] std::int64_t threads() const {
    return std::int64_t{view.groups()} * slots.divisor();
  }

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const auto [group, slot] = view.share(thread, slots);
    const typename Part::Coefficients coefficients = part.coefficients(group);
    Pack<T, width> loaded[units_of_thread][inputs];
    DLSCALE_UNROLL
    for (int u = 0; u < units_of_thread; ++u) {
      const std::uint32_t unit = slot + static_cast<std::uint32_t>(u) * slots.divisor();
      if (unit >= view.units()) continue;
      const std::uint64_t at = view.offset(group, unit);
      DLSCALE_UNROLL
      for (int k = 0; k < inputs; ++k) loaded[u][k] = load<width>(in[k] + at);
    }
    DLSCALE_UNROLL
    for (int u = 0; u < units_of_thread; ++u) {
      const std::uint32_t unit = slot + static_cast<std::uint32_t>(u) * slots.divisor();
      if (unit >= view.units()) continue;
      store(apply(coefficients, loaded[u]), out + view.offset(group, unit));
    }
  }

 private:
  DLSCALE_HOST_DEVICE Pack<T, width> apply(const typename Part::Coefficients& coefficients,
                                           const Pack<T, width> (&packs)[inputs]) const {
    Pack<T, width> result;
    DLSCALE_UNROLL
    for (int i = 0; i < width; ++i) {
      float elements[inputs];
      DLSCALE_UNROLL
      for (int k = 0; k < inputs; ++k) elements[k] = to_float(packs[k].values[i]);
      const int lane = View::lanes == 1 ? 0 : i;
      result.values[i] = from_float<T>(part.value(coefficients, lane, elements));
    }
    return result;
  }
};

/// Division of a reduction over units: a team takes a slice of the units of `groups` groups.
struct Tiling {
  std::uint32_t groups;  ///< per team: a power of two of up to 32
  std::uint32_t teams;   ///< side by side
  std::uint32_t slices;
  std::uint32_t slice_units;

  /// `processors` as launcher.processors() counts them.
  Tiling(std::uint32_t all_groups, std::uint32_t units, std::uint32_t least_groups, int processors)
      : groups(choose(all_groups, least_groups)), teams((all_groups + groups - 1) / groups) {
    constexpr std::uint32_t least_rounds = 4;  // least rounds of a team's threads through its slice
    const std::uint32_t round = team_size / groups;
    const auto wanted =
        std::max<std::uint32_t>(1, 4 * static_cast<std::uint32_t>(processors) / teams);
    const std::uint32_t most = std::max<std::uint32_t>(1, units / (round * least_rounds));
    slice_units = (units + std::min(wanted, most) - 1) / std::min(wanted, most);
    slices = (units + slice_units - 1) / slice_units;
  }

 private:
  /// The width that leaves the fewest threads idle, but at least `least` groups if there are as
  /// many.
  static std::uint32_t choose(std::uint32_t all, std::uint32_t least) {
    std::uint32_t best = 1;
    while (best < std::min(least, all)) best *= 2;
    for (std::uint32_t width = 2 * best; width <= 32 && best < all && least > 1; width *= 2) {
      const auto covered = [all](std::uint32_t w) { return (all + w - 1) / w * w; };
      if (covered(width) <= covered(best)) best = width;
    }
    return best;
  }
};

/// First stage: writes one Sums for each slice and channel, at slice · channels + channel. A Part
/// has a type Sums with clear() and add(), a type Running of a thread's sums for the channels of a
/// group, and add<units>(running, group, offsets).
template <class View, class Part>
struct PartialSums {
  using Sums = typename Part::Sums;
  static constexpr int lanes = View::lanes;
  static constexpr int units_at_once = 4;
  static constexpr int phases = 10;  ///< add up, halve eight times, write
  struct Shared {
    Sums sums[lanes][team_size];
  };

  View view;
  Part part;
  Tiling tiling;
  Sums* out;

  DLSCALE_HOST_DEVICE void run(int phase, const Place& place, Shared& shared) const {
    if (phase == 0) return add_up(place, shared);
    const std::uint32_t step = team_size >> phase;
    if (phase < phases - 1) {
      if (place.thread >= step || step < tiling.groups) return;
      DLSCALE_UNROLL
      for (int i = 0; i < lanes; ++i) {
        shared.sums[i][place.thread].add(shared.sums[i][place.thread + step]);
      }
      return;
    }
    const std::uint32_t group = group_of(place);
    if (place.thread >= tiling.groups || group >= view.groups()) return;
    const std::uint64_t first = (std::uint64_t{place.y} * view.groups() + group) * lanes;
    DLSCALE_UNROLL
    for (int i = 0; i < lanes; ++i) out[first + i] = shared.sums[i][place.thread];
  }

 private:
  DLSCALE_HOST_DEVICE std::uint32_t group_of(const Place& place) const {
    return place.x * tiling.groups + place.thread % tiling.groups;
  }

  DLSCALE_HOST_DEVICE void add_up(const Place& place, Shared& shared) const {
    const std::uint32_t group = group_of(place);
    typename Part::Running running;
    running.clear();
    if (group < view.groups()) {
      part.begin(running, group);
      const std::uint32_t step = team_size / tiling.groups;
      const std::uint32_t end = smaller(view.units(), (place.y + 1) * tiling.slice_units);
      std::uint32_t unit = place.y * tiling.slice_units + place.thread / tiling.groups;
      for (; unit + (units_at_once - 1) * step < end; unit += units_at_once * step) {
        add<units_at_once>(running, group, unit, step);
      }
      for (; unit < end; unit += step) add<1>(running, group, unit, step);
    }
    DLSCALE_UNROLL
    for (int i = 0; i < lanes; ++i) shared.sums[i][place.thread] = running.sums(i);
  }

  template <int count>
  DLSCALE_HOST_DEVICE void add(typename Part::Running& running, std::uint32_t group,
                               std::uint32_t unit, std::uint32_t step) const {
    std::uint64_t offsets[count];
    DLSCALE_UNROLL
    for (int u = 0; u < count; ++u) {
      offsets[u] = view.offset(group, unit + static_cast<std::uint32_t>(u) * step);
    }
    part.template add<count>(running, offsets);
  }

  DLSCALE_HOST_DEVICE static std::uint32_t smaller(std::uint32_t a, std::uint32_t b) {
    return a < b ? a : b;
  }
};

/// Second stage: adds the slices of each channel and passes the sum to finish(channel, sums).
template <class Sums, class Finish>
struct FinishedSums {
  static constexpr std::uint32_t channels_of_team = 8;
  static constexpr int phases = 7;  ///< add up, halve five times, finish
  struct Shared {
    Sums sums[team_size];
  };

  const Sums* in;
  std::uint32_t channels;
  std::uint32_t slices;
  Finish finish;

  [[nodiscard]] std::int64_t teams() const {
    return (channels + channels_of_team - 1) / channels_of_team;
  }

  DLSCALE_HOST_DEVICE void run(int phase, const Place& place, Shared& shared) const {
    const std::uint32_t channel = place.x * channels_of_team + place.thread % channels_of_team;
    if (phase == 0) {
      Sums sums;
      sums.clear();
      if (channel < channels) {
        const std::uint32_t step = team_size / channels_of_team;
        for (std::uint32_t s = place.thread / channels_of_team; s < slices; s += step) {
          sums.add(in[std::uint64_t{s} * channels + channel]);
        }
      }
      shared.sums[place.thread] = sums;
    } else if (phase < phases - 1) {
      const std::uint32_t step = team_size >> phase;
      if (place.thread < step) shared.sums[place.thread].add(shared.sums[place.thread + step]);
    } else if (place.thread < channels_of_team && channel < channels) {
      finish(channel, shared.sums[place.thread]);
    }
  }
};

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
