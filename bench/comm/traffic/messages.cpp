#include "bench/comm/traffic/messages.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/text/size_text.hpp"

namespace dlscale::bench {
namespace {

using Sizes = std::set<std::int64_t>;

constexpr std::int64_t least_power = 4;
constexpr std::int64_t largest_power = std::int64_t{64} << 20U;
constexpr std::int64_t largest = std::int64_t{1} << 30U;

void add_powers(Sizes& sizes, std::int64_t element) {
  const std::int64_t least = std::max(least_power, element);
  for (std::int64_t bytes = least; bytes <= largest_power; bytes *= 2) sizes.insert(bytes);
}

/// Adds sizes next to powers of two, where libraries switch algorithms and messages do not divide
/// evenly.
void add_neighbours(Sizes& sizes, std::int64_t element, std::int64_t last) {
  const std::int64_t least = std::max(least_power, element);
  for (std::int64_t bytes = least; bytes <= last; bytes *= 2) {
    if (bytes > element) sizes.insert(bytes - element);
    sizes.insert(bytes + element);
  }
}

void add_large(Sizes& sizes) {
  for (std::int64_t bytes = 2 * largest_power; bytes <= largest; bytes *= 2) sizes.insert(bytes);
}

void add_gradients(Sizes& sizes, const std::vector<std::string>& networks, std::int64_t element) {
  for (const std::string& name : networks) {
    const Network network = load_network(name);
    for (const Schedule schedule : {Schedule::wait_free, Schedule::bucketed}) {
      for (const Bucket& bucket : gradient_buckets(network, schedule)) {
        sizes.insert(bucket.elements * element);
      }
    }
  }
}

std::int64_t one_size(const std::string& text, backend::ElementType type) {
  return parse_whole_elements(text, option_name("sizes"), static_cast<std::int64_t>(size_of(type)),
                              to_string(type));
}

}  // namespace

std::vector<std::int64_t> message_sizes(const std::vector<std::string>& items,
                                        const std::vector<std::string>& networks,
                                        backend::ElementType type) {
  const auto element = static_cast<std::int64_t>(size_of(type));
  const bool has_large = std::ranges::find(items, "large") != items.end();
  refuse_commas_in_numbers(option_name("sizes"), items);
  Sizes sizes;
  for (const std::string& item : items) {
    if (item == "powers") {
      add_powers(sizes, element);
    } else if (item == "neighbours") {
      add_neighbours(sizes, element, has_large ? largest : largest_power);
    } else if (item == "large") {
      add_large(sizes);
    } else if (item == "gradients") {
      add_gradients(sizes, networks, element);
    } else {
      sizes.insert(one_size(item, type));
    }
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<std::int64_t> in_equal_blocks(const std::vector<std::int64_t>& sizes, int ranks,
                                          backend::ElementType type) {
  const std::int64_t unit = ranks * static_cast<std::int64_t>(size_of(type));
  Sizes rounded;
  for (const std::int64_t bytes : sizes) rounded.insert((bytes + unit - 1) / unit * unit);
  return {rounded.begin(), rounded.end()};
}

}  // namespace dlscale::bench
