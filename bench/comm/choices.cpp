#include "bench/comm/choices.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/compute/compute.hpp"
#include "bench/comm/overlap/overlap_work.hpp"
#include "bench/comm/traffic/messages.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/collective/algorithm.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::bench {
namespace {

using backend::Collective;
using backend::ElementType;

Words choices(const Context& context, std::string_view axis, const Words& allowed) {
  Words chosen = context.list(axis);
  for (const std::string& item : chosen) {
    if (std::find(allowed.begin(), allowed.end(), item) != allowed.end()) continue;
    throw ConfigError(fmt::format("{} is \"{}\". Write {}.", option_name(axis), item,
                                  fmt::join(allowed, " or ")));
  }
  return chosen;
}

template <class All>
Words names_of(const All& all) {
  Words names;
  for (const auto each : all) names.emplace_back(to_string(each));
  return names;
}

/// Refuses options without effect, which the user gave for a purpose.
void refuse_idle_options(const Context& context, const Words& collectives) {
  for (const char* axis : {"op", "mode", "in_place", "algorithm", "dtype", "sizes", "networks",
                           "cache", "memory", "beside"}) {
    const bool has_effect = std::ranges::any_of(
        collectives, [&](const std::string& name) { return concerns(axis, name); });
    if (has_effect || !context.given.contains(axis)) continue;
    throw ConfigError(
        fmt::format("{} has no effect on {}. Leave it out, or name a collective "
                    "that it concerns.",
                    option_name(axis), fmt::join(collectives, ", ")));
  }
}

Words positive_numbers(const Context& context, std::string_view axis) {
  Words numbers;
  for (const int number : context.integers(axis)) numbers.push_back(std::to_string(number));
  return numbers;
}

/// Refuses networks if no gradient sizes are requested.
void expect_use_of_networks(const Context& context, const Choices& chosen) {
  const bool sends_gradients = std::ranges::find(chosen.sizes, "gradients") != chosen.sizes.end();
  if (sends_gradients || !context.given.contains("networks")) return;
  throw ConfigError(fmt::format(
      "{} has no effect: the sizes are not those of networks' gradients. Leave it out, or add "
      "gradients to {}.",
      option_name("networks"), option_name("sizes")));
}

/// Most segments. With more, splitting a message takes longer than sending it.
constexpr int most_segments = 1 << 16;

Words segment_counts(const Context& context) {
  Words numbers = positive_numbers(context, "segments");
  for (const std::string& number : numbers) {
    if (std::stoi(number) <= most_segments) continue;
    throw ConfigError(fmt::format(
        "{} is {}: to lay out so many takes longer than to send them, and none is smaller than an "
        "element. Write {} or less.",
        option_name("segments"), number, most_segments));
  }
  return numbers;
}

/// All possible algorithms for these collectives.
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

/// Checks that each algorithm belongs to a measured collective.
void expect_algorithms(const Choices& chosen) {
  const Words known = known_algorithms(chosen.collectives);
  for (const std::string& item : chosen.algorithms) {
    if (std::ranges::find(known, item) != known.end()) continue;
    throw ConfigError(fmt::format("{} is \"{}\", which is none for {}. {}",
                                  option_name("algorithm"), item,
                                  fmt::join(chosen.collectives, ", "), suggestion(item, known)));
  }
}

/// The algorithm among dlscale's own, or nullptr.
const collective::Algorithm* algorithm_named(const std::string& name,
                                             const std::string& algorithm) {
  const std::optional<Collective> collective = collective_named(name);
  return collective ? collective::find(*collective, algorithm) : nullptr;
}

using Reads = bool (*)(const std::string& collective, const std::string& algorithm);

/// Whether a measured algorithm reads the parameter.
bool any_reads(const Choices& chosen, Reads reads) {
  return std::ranges::any_of(chosen.collectives, [&](const std::string& name) {
    return std::ranges::any_of(
        algorithms_for(name, chosen.algorithms),
        [&](const std::string& algorithm) { return reads(name, algorithm); });
  });
}

/// Refuses an axis that none of the named algorithms reads; `example` does.
void expect_use(const Context& context, const Choices& chosen, const char* axis, Reads reads,
                const char* example) {
  if (!context.given.contains(axis) || any_reads(chosen, reads)) return;
  throw ConfigError(fmt::format(
      "{} has no effect: no algorithm that was named has {}. Leave it out, or name one that does, "
      "such as {} {}.",
      option_name(axis), axis, option_name("algorithm"), example));
}

/// The distinct numbers of servers; "all" is the number of ranks.
Words server_counts(const Context& context) {
  Words numbers;
  for (const std::string& item : context.list("servers")) {
    int servers = 0;
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), servers);
    const bool whole = error == std::errc{} && end == item.data() + item.size();
    if (item == "all") {
      servers = context.communicator->size();
    } else if (!whole || servers < 1) {
      throw ConfigError(
          fmt::format("{} is \"{}\". Write the number of parameter servers, such as 1, or all: one "
                      "on each rank.",
                      option_name("servers"), item));
    }
    const std::string number = std::to_string(servers);
    if (std::ranges::find(numbers, number) == numbers.end()) numbers.push_back(number);
  }
  return numbers;
}

/// Throws ConfigError unless the text is a possible ratio of work to messages.
void expect_ratio(const std::string& text) {
  double ratio = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  if (whole && ratio >= 0.01 && ratio <= 100) return;
  throw ConfigError(fmt::format(
      "{} is \"{}\", which is not a number from 0.01 to 100. Write the time of the work "
      "as a multiple of that of the messages, such as 1 or 0.5.",
      option_name("beside_work"), text));
}

Words read_placements(const Context& context) {
  Words chosen = choices(context, "in_place", {"yes", "no"});
  return context.given.contains("in_place") ? chosen : Words{};
}

std::vector<OverlapChoice> read_besides(const Context& context) {
  Words allowed{"nothing"};
  for (std::string& name : overlap_work_names()) allowed.push_back(std::move(name));
  const Words ratios = context.list("beside_work");
  std::ranges::for_each(ratios, expect_ratio);
  std::vector<OverlapChoice> besides;
  for (const std::string& work : choices(context, "beside", allowed)) {
    if (work == "nothing") {
      besides.emplace_back();
      continue;
    }
    for (const std::string& ratio : ratios) besides.push_back({work, ratio});
  }
  return besides;
}

/// Refuses options of overlapping work if there is none.
void refuse_idle_work(const Context& context, const Choices& chosen) {
  const bool any = std::ranges::any_of(
      chosen.besides, [](const OverlapChoice& beside) { return !beside.work.empty(); });
  for (const auto& [axis, needed] :
       {std::pair("beside_work", any),
        std::pair("backend", computes(chosen) || lie_on_device(chosen)),
        std::pair("threads", computes(chosen))}) {
    if (needed || !context.given.contains(axis)) continue;
    const bool is_backend = std::string_view(axis) == "backend";
    throw ConfigError(
        fmt::format("{} has no effect: nothing is {} beside the messages{}. Leave it out, or name "
                    "{} with {}{}.",
                    option_name(axis), any ? "computed" : "done",
                    is_backend ? ", and they lie in the host's memory" : "",
                    any ? "gemm or conv" : "gemm, conv or memcpy", option_name("beside"),
                    is_backend ? fmt::format(", or device with {}", option_name("memory")) : ""));
  }
}

/// Checks that messages in device memory have such a device and no overlapping work.
void expect_device(const Context& context, const Choices& chosen) {
  if (!lie_on_device(chosen)) return;
  const bool alone = std::ranges::all_of(
      chosen.besides, [](const OverlapChoice& beside) { return beside.work.empty(); });
  if (!alone) {
    throw ConfigError(fmt::format(
        "{} is work of the processor, beside which messages of a device's memory say little about "
        "training there. Leave it out, or measure messages of the host's memory with a backend of "
        "the processor. What messages and a device cost each other, the benchmark e2e measures.",
        option_name("beside")));
  }
  const std::string& name = context.value("backend");
  if (!find_backend(name).has_own_memory()) {
    throw ConfigError(fmt::format(
        "{} device needs a backend with memory of its own, and {} computes in the host's. Name one "
        "with {}, such as cuda, or measure the host's memory.",
        option_name("memory"), name, option_name("backend")));
  }
}

bool has_own_memory(const std::string& backend) {
  const auto* found = family<backend::ComputeBackend>().find(backend);
  return found != nullptr && found->has_own_memory();
}

}  // namespace

bool computes(const Choices& chosen) {
  return std::ranges::any_of(chosen.besides, [](const OverlapChoice& beside) {
    return !beside.work.empty() && needs_backend(beside.work);
  });
}

bool lie_on_device(const Choices& chosen) {
  return std::ranges::find(chosen.memories, device_memory) != chosen.memories.end();
}

void settle_memory(std::map<std::string, std::string>& values, const std::set<std::string>& given) {
  const bool on_device = values.at("memory").find(device_memory) != std::string::npos;
  if (on_device && !given.contains("backend")) values["backend"] = "cuda";
  if (!given.contains("memory") && given.contains("backend") && has_own_memory(values["backend"])) {
    values["memory"] = device_memory;
  }
}

std::vector<OverlapChoice> besides_for(const std::string& collective, const Choices& chosen) {
  return concerns("beside", collective) ? chosen.besides : std::vector<OverlapChoice>(1);
}

bool concerns(std::string_view axis, std::string_view name) {
  const std::optional<Collective> collective = collective_named(name);
  if (axis == "op") return collective && backend::reduces(*collective);
  if (axis == "mode" || axis == "algorithm" || axis == "beside") return collective.has_value();
  // A broadcast has only one side.
  if (axis == "in_place") return collective && *collective != Collective::broadcast;
  return name != "barrier";  // dtype, sizes, networks, cache, memory
}

Choices read_choices(const Context& context) {
  Choices chosen{.collectives = choices(context, "collectives", traffic_names()),
                 .sizes = context.list("sizes"),
                 .networks = context.list("networks"),
                 .dtypes = choices(context, "dtype", names_of(backend::element_types)),
                 .ops = choices(context, "op", names_of(backend::reductions)),
                 .modes = choices(context, "mode", names_of(backend::modes)),
                 .placements = read_placements(context),
                 .algorithms = context.list("algorithm"),
                 .segments = segment_counts(context),
                 .servers = server_counts(context),
                 .waitings = choices(context, "waiting", {"spin", "sleep"}),
                 .caches = choices(context, "cache", {"cold", "hot", "reused"}),
                 .memories = choices(context, "memory", {"host", std::string(device_memory)}),
                 .besides = read_besides(context)};
  refuse_idle_options(context, chosen.collectives);
  refuse_idle_work(context, chosen);
  expect_device(context, chosen);
  expect_use_of_networks(context, chosen);
  expect_algorithms(chosen);
  expect_use(context, chosen, "segments", reads_segments, "segmented_ring");
  expect_use(context, chosen, "servers", reads_servers, "parameter_server");
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
  const collective::Algorithm* found = algorithm_named(name, algorithm);
  return found != nullptr && found->traits.segments;
}

bool reads_servers(const std::string& name, const std::string& algorithm) {
  const collective::Algorithm* found = algorithm_named(name, algorithm);
  return found != nullptr && found->traits.servers;
}

Words values_for(std::string_view axis, const std::string& collective, const Words& values) {
  return concerns(axis, collective) ? values : Words{""};
}

Words placements_for(const std::string& name, const Choices& chosen) {
  if (!concerns("in_place", name)) return {""};
  if (!chosen.placements.empty()) return chosen.placements;
  constexpr MessageAxis axis{"in_place", "yes"};
  return {std::string(in_training(axis, name))};
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
