#include "bench/comm/messages.hpp"

#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/network.hpp"
#include "core/quantity_text.hpp"
#include "core/step.hpp"

namespace dlscale::bench {
namespace {

using Sizes = std::set<std::int64_t>;

constexpr std::int64_t element = 4;
constexpr std::int64_t largest_power = std::int64_t{64} << 20U;

void add_powers(Sizes& sizes) {
  for (std::int64_t bytes = element; bytes <= largest_power; bytes *= 2) sizes.insert(bytes);
}

/// Libraries change their algorithm at powers of two, and cut what does not divide evenly.
void add_neighbours(Sizes& sizes) {
  for (std::int64_t bytes = element; bytes <= largest_power; bytes *= 2) {
    if (bytes > element) sizes.insert(bytes - element);
    sizes.insert(bytes + element);
  }
}

void add_gradients(Sizes& sizes, const std::vector<std::string>& networks) {
  for (const std::string& name : networks) {
    const Network network = load_network(name);
    for (const Schedule schedule : {Schedule::wait_free, Schedule::bucketed}) {
      for (const Bucket& bucket : gradient_buckets(network, schedule)) {
        sizes.insert(bucket.elements * element);
      }
    }
  }
}

std::int64_t one_size(const std::string& text) {
  const double bytes = parse_quantity<Bytes>(text, "--sizes").si();
  if (bytes >= element && bytes < 9e15 && std::fmod(bytes, element) == 0) {
    return static_cast<std::int64_t>(bytes);
  }
  throw ConfigError(fmt::format(
      "--sizes: {} is not a whole number of f32 (4 B each, at least one). Write \"4 B\" or "
      "\"1 MiB\".",
      text));
}

}  // namespace

std::vector<std::int64_t> message_sizes(const std::vector<std::string>& items,
                                        const std::vector<std::string>& networks) {
  Sizes sizes;
  for (const std::string& item : items) {
    if (item == "powers") {
      add_powers(sizes);
    } else if (item == "neighbours") {
      add_neighbours(sizes);
    } else if (item == "gradients") {
      add_gradients(sizes, networks);
    } else {
      sizes.insert(one_size(item));
    }
  }
  return {sizes.begin(), sizes.end()};
}

}  // namespace dlscale::bench
