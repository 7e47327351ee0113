#include "bench/comm/choices.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/comm/messages.hpp"
#include "bench/comm/traffic.hpp"
#include "core/collective/algorithm.hpp"
#include "core/suggest.hpp"

namespace dlscale::bench {
namespace {

using backend::Collective;
using backend::ElementType;

std::string option(std::string_view axis) {
  return axis == "in_place" ? "--in-place" : fmt::format("--{}", axis);
}

Words choices(const Context& context, std::string_view axis, const Words& allowed) {
  Words chosen = context.list(axis);
  for (const std::string& item : chosen) {
    if (std::find(allowed.begin(), allowed.end(), item) != allowed.end()) continue;
    throw ConfigError(
        fmt::format("{} is \"{}\". Write {}.", option(axis), item, fmt::join(allowed, " or ")));
  }
  return chosen;
}

template <class All>
Words names_of(const All& all) {
  Words names;
  for (const auto each : all) names.emplace_back(to_string(each));
  return names;
}

/// An option that changes nothing was meant to change something.
void refuse_idle_options(const Context& context, const Words& collectives) {
  for (const char* axis :
       {"op", "mode", "in_place", "algorithm", "dtype", "sizes", "networks", "cache"}) {
    const bool has_effect = std::ranges::any_of(
        collectives, [&](const std::string& name) { return concerns(axis, name); });
    if (has_effect || !context.given.contains(axis)) continue;
    throw ConfigError(
        fmt::format("{} has no effect on {}. Leave it out, or name a collective "
                    "that it concerns.",
                    option(axis), fmt::join(collectives, ", ")));
  }
}

Words positive_numbers(const Context& context, std::string_view axis) {
  Words numbers;
  for (const int number : context.integers(axis)) numbers.push_back(std::to_string(number));
  return numbers;
}

/// All that can be asked for.
Words known_algorithms(const Words& collectives) {
  Words known{"library", "all"};
  for (const std::string& name : collectives) {
    if (!collective_named(name)) continue;
    const Words more = algorithms_for(name, {"all"});
    known.insert(known.end(), more.begin(), more.end());
  }
  std::ranges::sort(known);
  known.erase(std::ranges::unique(known).begin(), known.end());
  return known;
}

/// Each must be one of some collective that is measured.
void expect_algorithms(const Choices& chosen) {
  const Words known = known_algorithms(chosen.collectives);
  for (const std::string& item : chosen.algorithms) {
    if (std::ranges::find(known, item) != known.end()) continue;
    throw ConfigError(fmt::format("--algorithm is \"{}\", which is none for {}. {}", item,
                                  fmt::join(chosen.collectives, ", "), suggestion(item, known)));
  }
}

void expect_use_of_segments(const Choices& chosen) {
  for (const std::string& name : chosen.collectives) {
    for (const std::string& algorithm : algorithms_for(name, chosen.algorithms)) {
      if (reads_segments(name, algorithm)) return;
    }
  }
  throw ConfigError(
      "--segments has no effect: no algorithm that was named cuts messages into them. Leave it "
      "out, or name one that does, such as --algorithm segmented_ring.");
}

}  // namespace

bool concerns(std::string_view axis, std::string_view name) {
  const std::optional<Collective> collective = collective_named(name);
  if (axis == "op") return collective && backend::reduces(*collective);
  if (axis == "mode" || axis == "algorithm") return collective.has_value();
  // A broadcast has one side.
  if (axis == "in_place") return collective && *collective != Collective::broadcast;
  return name != "barrier";  // dtype, sizes, networks, cache
}

Choices read_choices(const Context& context) {
  Choices chosen{.collectives = choices(context, "collectives", traffic_names()),
                 .sizes = context.list("sizes"),
                 .networks = context.list("networks"),
                 .dtypes = choices(context, "dtype", names_of(backend::element_types)),
                 .ops = choices(context, "op", names_of(backend::reductions)),
                 .modes = choices(context, "mode", names_of(backend::modes)),
                 .placements = choices(context, "in_place", {"yes", "no"}),
                 .algorithms = context.list("algorithm"),
                 .segments = positive_numbers(context, "segments"),
                 .waitings = choices(context, "waiting", {"spin", "sleep"}),
                 .caches = choices(context, "cache", {"cold", "hot"})};
  refuse_idle_options(context, chosen.collectives);
  expect_algorithms(chosen);
  if (context.given.contains("segments")) expect_use_of_segments(chosen);
  return chosen;
}

Words algorithms_for(const std::string& name, const Words& chosen) {
  const std::optional<Collective> collective = collective_named(name);
  if (!collective) return {""};
  Words found;
  const auto take = [&](std::string_view algorithm) {
    if (std::ranges::find(found, algorithm) == found.end()) found.emplace_back(algorithm);
  };
  for (const std::string& item : chosen) {
    if (item == "library" || item == "all") take("library");
    for (const collective::Algorithm* each : collective::algorithms_of(*collective)) {
      if (item == "all" || item == each->name) take(each->name);
    }
  }
  return found;
}

bool reads_segments(const std::string& name, const std::string& algorithm) {
  const std::optional<Collective> collective = collective_named(name);
  if (!collective) return false;
  const collective::Algorithm* found = collective::find(*collective, algorithm);
  return found != nullptr && found->traits.segments;
}

Words values_for(std::string_view axis, const std::string& collective, const Words& values) {
  return concerns(axis, collective) ? values : Words{""};
}

std::vector<std::int64_t> sizes_for(const std::string& collective, const Choices& chosen,
                                    const std::string& dtype, int ranks) {
  if (!concerns("sizes", collective)) return {0};
  const ElementType type = named(backend::element_types, dtype);
  const auto sizes = message_sizes(chosen.sizes, chosen.networks, type);
  const auto known = collective_named(collective);
  return known && backend::in_blocks(*known) ? in_equal_blocks(sizes, ranks, type) : sizes;
}

}  // namespace dlscale::bench
