#include "model/communication/message_family.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"
#include "core/results/bandwidths.hpp"
#include "core/results/usable_rows.hpp"
#include "model/fits/fit.hpp"

namespace dlscale::model {
namespace {

/// Axes by which the samples of a family differ, or which follow from them.
constexpr std::array<std::string_view, 5> sample_axes{"bytes", "ranks", "ranks_on_node", "window",
                                                      "part"};
/// Axes with members of their own.
constexpr std::array<std::string_view, 5> named_axes{"collective", "algorithm", "segments",
                                                     "library", "waiting"};

using Axes = std::map<std::string, std::string>;

std::string value_or(const Axes& axes, const std::string& name, const std::string& otherwise) {
  const auto found = axes.find(name);
  return found == axes.end() ? otherwise : found->second;
}

/// The common axes of a row and its family; fills in axes that older results lack.
Axes family_axes(const Measurement& row) {
  Axes axes = row.axes;
  for (const std::string_view name : sample_axes) axes.erase(std::string(name));
  for (const MessageAxis& axis : message_axes) {
    axes.emplace(std::string(axis.name), std::string(axis.in_training));
  }
  return axes;
}

/// Whether a row is usable: messages of a replay follow each other, so they are not samples of one
/// kind.
bool is_usable(const Measurement& row) {
  if (row.axes.contains("message")) return false;
  const auto collective = row.axes.find("collective");
  return row.benchmark == "comm" && is_timed(row) && collective != row.axes.end() &&
         is_modelled(collective->second) && row.axes.contains("bytes") &&
         value_or(row.axes, "ranks", "") != "1";
}

/// Throws ConfigError for a row of an unknown collective. A barrier sends no message.
void expect_known(const Sourced& row) {
  const std::string name = value_or(row.measurement->axes, "collective", "barrier");
  const bool counts = row.measurement->benchmark == "comm" && is_timed(*row.measurement);
  if (!counts || name == "barrier" || bus_factor(name, 2)) return;
  throw ConfigError(fmt::format(
      "{}: {} has collective = \"{}\", which is none that dlscale measures. Measure again, or "
      "remove the row.",
      row.file, row.measurement->key(), name));
}

std::optional<Half> stated_half(const Sourced& row) {
  const std::string part = value_or(row.measurement->axes, "part", "");
  if (part.empty()) return std::nullopt;
  if (part == "given") return Half::training;
  if (part == "asked") return Half::judging;
  throw ConfigError(fmt::format("{}: {} has part = \"{}\", which is neither given nor asked.",
                                row.file, row.measurement->key(), part));
}

MessageSample sample_of(const Group& same) {
  const Sourced& first = same.front();
  MessageSample sample;
  sample.layout = {first.count("ranks"), first.count("ranks_on_node")};
  if (sample.layout.ranks < sample.layout.ranks_per_node) {
    throw ConfigError(fmt::format("{}: {} has more ranks on a node than ranks. Measure again.",
                                  first.file, first.measurement->key()));
  }
  sample.bytes = Bytes(static_cast<double>(first.integer("bytes")));
  sample.time = pool(same, "time", Range::positive, Ranks::slowest);
  sample.half = stated_half(first);
  return sample;
}

auto order_of(const MessageSample& sample) {
  return std::tuple(sample.layout.ranks, sample.layout.ranks_per_node, sample.bytes);
}

int segments_of(const Group& rows) {
  return rows.front().measurement->axes.contains("segments") ? rows.front().count("segments") : 1;
}

MessageFamily family_of(Axes axes, const Group& rows, const MessageOrigin& origin) {
  MessageFamily family;
  family.collective = axes["collective"];
  family.algorithm = axes["algorithm"];
  family.segments = segments_of(rows);
  family.library = axes["library"];
  family.waiting = axes["waiting"];
  for (const std::string_view name : named_axes) axes.erase(std::string(name));
  family.axes = std::move(axes);
  family.measured_on = origin.measured_on;
  family.cores = origin.cores;
  family.by_defaults = origin.by_defaults;
  family.source = source(rows);
  for (const auto& [key, same] : group_by(rows, {"ranks", "ranks_on_node", "bytes"})) {
    family.samples.push_back(sample_of(same));
  }
  std::ranges::sort(family.samples, {}, order_of);
  return family;
}

/// Results of one place, and the facts of each file.
struct Place {
  Group rows;
  std::vector<int> cores;
  bool by_defaults = true;
};

/// The place where the rows of a file were measured.
std::string place_of(const ResultFile& file) {
  const Environment& environment = file.header.environment;
  const std::string place = fmt::format("{}, host {}", environment.cpu, environment.host_hash);
  const std::string links = links_between_hosts(environment);
  return links.empty() ? place : place + ", " + links;
}

}  // namespace

bool chooses_by_defaults(const Environment& environment) {
  if (environment.compiler.empty()) return false;  // imported
  return std::ranges::none_of(environment.variables, [](const auto& variable) {
    return variable.first.starts_with("OMPI_MCA_coll");
  });
}

bool is_modelled(std::string_view name) {
  return name == "sendrecv" ||
         std::ranges::any_of(collective::collectives, [&](collective::Collective each) {
           return collective::to_string(each) == name;
         });
}

std::string MessageFamily::name() const {
  std::string text = collective;
  if (algorithm != "library") text += fmt::format(" by {}", algorithm);
  if (segments > 1) text += fmt::format(" in {} segments", segments);
  if (!waiting.empty()) text += fmt::format(", {}", waiting);
  for (const auto& own : axes) {
    const bool usual = std::ranges::any_of(message_axes, [&](const MessageAxis& known) {
      return known.name == own.first && known.in_training == own.second;
    });
    if (!usual && !(own.first == "cache" && own.second == "cold")) {
      text += fmt::format(", {} {}", own.first, own.second);
    }
  }
  return text;
}

std::vector<MessageFamily> message_families(const Group& rows, const MessageOrigin& origin) {
  std::map<Axes, Group> groups;
  for (const Sourced& row : rows) {
    expect_known(row);
    if (is_usable(*row.measurement)) groups[family_axes(*row.measurement)].push_back(row);
  }
  std::vector<MessageFamily> families;
  families.reserve(groups.size());
  for (const auto& [axes, group] : groups) families.push_back(family_of(axes, group, origin));
  return families;
}

std::vector<MessageFamily> message_families(std::span<const ResultFile> results) {
  std::map<std::string, Place> places;
  for (const ResultFile& file : results) {
    Place& place = places[place_of(file)];
    place.cores.push_back(cores_of_hosts(file.header.environment));
    place.by_defaults = place.by_defaults && chooses_by_defaults(file.header.environment);
    for (const Measurement& row : file.measurements) {
      place.rows.push_back({&row, file.path.string()});
    }
  }
  std::vector<MessageFamily> all;
  for (const auto& [name, place] : places) {
    const MessageOrigin origin{name, alike(place.cores), place.by_defaults};
    for (MessageFamily& family : message_families(place.rows, origin)) {
      all.push_back(std::move(family));
    }
  }
  return all;
}

}  // namespace dlscale::model
