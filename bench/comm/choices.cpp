#include "bench/comm/choices.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/comm/messages.hpp"
#include "bench/comm/traffic.hpp"

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
  for (const char* axis : {"op", "mode", "in_place", "dtype", "sizes", "networks", "cache"}) {
    const bool has_effect = std::ranges::any_of(
        collectives, [&](const std::string& name) { return concerns(axis, name); });
    if (has_effect || !context.given.contains(axis)) continue;
    throw ConfigError(
        fmt::format("{} has no effect on {}. Leave it out, or name a collective "
                    "that it concerns.",
                    option(axis), fmt::join(collectives, ", ")));
  }
}

}  // namespace

bool concerns(std::string_view axis, std::string_view name) {
  const std::optional<Collective> collective = collective_named(name);
  if (axis == "op") return collective && backend::reduces(*collective);
  if (axis == "mode") return collective.has_value();
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
                 .waitings = choices(context, "waiting", {"spin", "sleep"}),
                 .caches = choices(context, "cache", {"cold", "hot"})};
  refuse_idle_options(context, chosen.collectives);
  return chosen;
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
