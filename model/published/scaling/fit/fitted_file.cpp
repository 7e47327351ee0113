#include "model/published/scaling/fit/fitted_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <istream>
#include <limits>
#include <utility>
#include <vector>

#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"
#include "model/published/scaling/time/exchange_cost.hpp"

namespace dlscale::model::scaling {
namespace {

/// Rates within a quarter belong to the same generation.
constexpr double near = 1.25;

constexpr std::array<HardwareKind, hardware_count> kinds = {{
    {"pcie", "PCI Express within nodes", " GB/s", 1e9, near},
    {"nvlink", "NVLink within nodes", " GB/s", 1e9, near},
    {"tcp", "TCP between nodes", " GB/s", 1e9, near},
    {"rdma", "RDMA between nodes", " GB/s", 1e9, near},
    {"memory", "memory of GPUs", " GB/s", 1e9, near},
    {"year", "GPUs by their year", "", 1, 1},
    {"server_tcp", "parameter servers over TCP between nodes", " GB/s", 1e9, near},
    {"server_rdma", "parameter servers over RDMA between nodes", " GB/s", 1e9, near},
}};

using Rates = std::array<std::optional<double>, hardware_count>;

Hardware between_nodes_kind(const TrainingFacts& facts) {
  if (facts.synchronisation != cases::Synchronisation::all_reduce) {
    return over_tcp(facts) ? Hardware::server_tcp : Hardware::server_rdma;
  }
  return over_tcp(facts) ? Hardware::tcp : Hardware::rdma;
}

/// The rates of the hardware that a training uses.
Rates hardware_of(const TrainingFacts& facts) {
  Rates rates;
  const auto set = [&](Hardware kind, double value) {
    rates[static_cast<std::size_t>(kind)] = value;
  };
  if (std::max(facts.given.gpus_on_node, facts.asked.gpus_on_node) > 1) {
    const bool pcie = facts.node_fabric == NodeFabric::pcie;
    const bool by_rings = !pcie && facts.node_nominal > BytesPerSecond();
    set(pcie ? Hardware::pcie : Hardware::nvlink,
        (by_rings ? facts.node_nominal : facts.node_bandwidth).si());
  }
  if (std::max(facts.given.nodes, facts.asked.nodes) > 1) {
    set(between_nodes_kind(facts), facts.cluster_bandwidth.si());
  }
  set(Hardware::memory, facts.memory_bandwidth.si());
  set(Hardware::year, facts.launched);
  return rates;
}

std::optional<std::string> unlike(const HardwareKind& kind, double rate,
                                  const std::optional<FittedRange>& fitted) {
  const auto text = [&](double value) {
    return fmt::format("{:.4g}{}", value / kind.scale, kind.unit);
  };
  if (!fitted) return fmt::format("{} ({}), of which nothing was fitted", kind.words, text(rate));
  if (rate > fitted->most * kind.beyond) {
    return fmt::format("{}: {}, and no more than {} was fitted to", kind.words, text(rate),
                       text(fitted->most));
  }
  if (rate < fitted->least / kind.beyond) {
    return fmt::format("{}: {}, and no less than {} was fitted to", kind.words, text(rate),
                       text(fitted->least));
  }
  return {};
}

constexpr std::string_view first_line = "schema: dlscale.scaling";

constexpr int most_counted = std::numeric_limits<int>::max();

/// The range of the parts of the errors' scales.
constexpr NumberRange part_range{0, 10};

/// The range of parameters.
constexpr NumberRange positive_numbers{1e-12, 1e12};

Parameters read_parameters(const ConfigMap& map) {
  std::vector<std::string_view> names;
  for (const ParameterKind& kind : parameter_kinds()) names.push_back(kind.name);
  map.allow_only(names);
  Parameters read;
  for (std::size_t i = 0; i < names.size(); ++i) {
    read.values[i] = map.number(names[i], positive_numbers);
  }
  return read;
}

ErrorParts read_parts(const ConfigMap& map) {
  map.allow_only({error_parts().begin(), error_parts().end()});
  ErrorParts read;
  for (std::size_t i = 0; i < read.size(); ++i) {
    read[i] = map.number(error_parts()[i], part_range);
  }
  return read;
}

ErrorModel read_errors(const ConfigMap& map) {
  map.allow_only({"shift", "low", "high", "early", "late"});
  ErrorModel read;
  read.shift = map.number("shift", {-1, 1});
  read.low = map.number("low", {-1000, -1e-6});
  read.high = map.number("high", {1e-6, 1000});
  read.early = read_parts(map.map("early"));
  read.late = read_parts(map.map("late"));
  return read;
}

FitDomain read_domain(const ConfigMap& map) {
  std::vector<std::string_view> names{"gpus", "given_gpus", "least_batch", "most_batch",
                                      "frameworks"};
  for (const HardwareKind& kind : hardware_kinds()) names.push_back(kind.name);
  map.allow_only(names);
  FitDomain read;
  read.gpus = map.integer("gpus", {1, most_counted});
  read.given_gpus = map.integer("given_gpus", {1, most_counted});
  read.least_batch = map.number("least_batch", {1e-9, 1});
  read.most_batch = map.number("most_batch", {1, 1e9});
  for (std::size_t i = 0; i < hardware_count; ++i) {
    const std::string_view name = hardware_kinds()[i].name;
    if (!map.has(name)) continue;
    const ConfigMap range = map.map(name);
    range.allow_only({"least", "most"});
    const double least = range.number("least", {1, 1e18});
    read.hardware[i] = {least, range.number("most", {least, 1e18})};
  }
  for (std::string& name : map.texts("frameworks")) read.frameworks.insert(std::move(name));
  return read;
}

/// Requires that the keys were checked.
Fit read_fit(const ConfigMap& map) {
  Fit read;
  read.domain = read_domain(map.map("domain"));
  read.errors = read_errors(map.map("errors"));
  read.parameters = read_parameters(map.map("parameters"));
  return read;
}

std::map<std::string, std::size_t> read_sets(const ConfigMap& file) {
  std::map<std::string, std::size_t> sets;
  for (const ConfigMap& each : file.maps("sets")) {
    each.allow_only({"set", "trainings"});
    const int trainings = each.integer("trainings", {1, most_counted});
    if (!sets.emplace(each.text("set"), static_cast<std::size_t>(trainings)).second) {
      each.refuse("set", "there twice", "Keep one.");
    }
  }
  return sets;
}

std::map<std::string, Fit> read_without(const ConfigMap& file,
                                        const std::map<std::string, std::size_t>& sets) {
  std::map<std::string, Fit> without;
  for (const ConfigMap& each : file.maps("without")) {
    each.allow_only({"set", "domain", "errors", "parameters"});
    const std::string set = each.text("set");
    if (!sets.contains(set)) {
      each.refuse("set", "none of the sets that were fitted to", "Write one of them.");
    }
    if (!without.emplace(set, read_fit(each)).second) {
      each.refuse("set", "there twice", "Keep one.");
    }
  }
  return without;
}

void expect_schema(const ConfigMap& file) {
  if (file.text("schema") != "dlscale.scaling") {
    file.refuse("schema", "another kind of file",
                "Name a model of scaling, calibrated from published cases.");
  }
  if (file.integer("version", {0, most_counted}) != 4) {
    file.refuse("version", "this program reads 4", "Calibrate from published cases again.");
  }
}

/// A text in quotes, as in YAML and JSON.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string domain_text(const FitDomain& domain) {
  std::string text =
      fmt::format("gpus: {}, given_gpus: {}, least_batch: {}, most_batch: {}", domain.gpus,
                  domain.given_gpus, domain.least_batch, domain.most_batch);
  for (std::size_t i = 0; i < hardware_count; ++i) {
    if (const auto& range = domain.hardware[i]) {
      text += fmt::format(", {}: {{least: {}, most: {}}}", hardware_kinds()[i].name, range->least,
                          range->most);
    }
  }
  std::vector<std::string> frameworks;
  for (const std::string& name : domain.frameworks) frameworks.push_back(quoted(name));
  return fmt::format("{{{}, frameworks: [{}]}}", text, fmt::join(frameworks, ", "));
}

std::string parts_text(const ErrorParts& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", error_parts()[i], parts[i]);
  }
  return "{" + text + "}";
}

std::string errors_text(const ErrorModel& errors) {
  return fmt::format("{{shift: {}, low: {}, high: {}, early: {}, late: {}}}", errors.shift,
                     errors.low, errors.high, parts_text(errors.early), parts_text(errors.late));
}

/// A comment on a parameter of the fit to all: its unit, prior, and range over the fits without one
/// set.
std::string remark(const FittedScaling& fitted, std::size_t index) {
  const ParameterKind& kind = parameter_kinds()[index];
  std::string text = fmt::format("  # {}; prior {:.4g}", kind.unit, kind.median);
  if (fitted.without.empty()) return text;
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const auto& [set, fit] : fitted.without) {
    least = std::min(least, fit.parameters.values[index]);
    most = std::max(most, fit.parameters.values[index]);
  }
  return text + fmt::format("; {:.4g} to {:.4g} without one set", least, most);
}

/// One line for each parameter.
std::string parameter_lines(const Parameters& parameters, std::string_view indent,
                            const FittedScaling* remarks_of) {
  std::string text;
  for (std::size_t i = 0; i < parameter_count; ++i) {
    text += fmt::format("{}{}: {}{}\n", indent, parameter_kinds()[i].name, parameters.values[i],
                        remarks_of == nullptr ? "" : remark(*remarks_of, i));
  }
  return text;
}

}  // namespace

std::span<const HardwareKind, hardware_count> hardware_kinds() {
  return kinds;
}

void FitDomain::take(const TrainingFacts& facts) {
  const double batch = facts.batch / facts.given_batch;
  gpus = std::max(gpus, facts.asked.gpus);
  given_gpus = std::max(given_gpus, facts.given.gpus);
  least_batch = std::min(least_batch, batch);
  most_batch = std::max(most_batch, batch);
  const Rates rates = hardware_of(facts);
  for (std::size_t i = 0; i < hardware_count; ++i) {
    if (!rates[i]) continue;
    const FittedRange before = hardware[i].value_or(FittedRange{*rates[i], *rates[i]});
    hardware[i] = {std::min(before.least, *rates[i]), std::max(before.most, *rates[i])};
  }
  if (!facts.framework.family.empty()) frameworks.insert(facts.framework.family);
}

std::vector<std::string> outside(const TrainingFacts& facts, const FitDomain& domain) {
  std::vector<std::string> doubts = facts.guesses;
  const double batch = facts.batch / facts.given_batch;
  if (facts.asked.gpus > domain.gpus) {
    doubts.push_back(
        fmt::format("{} GPUs, and no more than {} were fitted to", facts.asked.gpus, domain.gpus));
  }
  if (facts.given.gpus > domain.given_gpus) {
    doubts.push_back(fmt::format("the given point is of {} GPUs, and of {} at most where fitted to",
                                 facts.given.gpus, domain.given_gpus));
  }
  if (facts.asked.gpus < facts.given.gpus) {
    doubts.push_back(fmt::format("fewer GPUs than the {} of the given point", facts.given.gpus));
  }
  if (batch < domain.least_batch) {
    doubts.push_back(
        fmt::format("a batch {:.3g} times that of the given point, and {:.3g} times at least was "
                    "fitted to",
                    batch, domain.least_batch));
  }
  if (batch > domain.most_batch) {
    doubts.push_back(
        fmt::format("a batch {:.3g} times that of the given point, and {:.3g} times at most was "
                    "fitted to",
                    batch, domain.most_batch));
  }
  const std::string& framework = facts.framework.family;
  if (!framework.empty() && !domain.frameworks.contains(framework)) {
    doubts.push_back(fmt::format("{}, of which nothing was fitted", framework));
  }
  const Rates rates = hardware_of(facts);
  for (std::size_t i = 0; i < hardware_count; ++i) {
    if (!rates[i]) continue;
    if (auto doubt = unlike(kinds[i], *rates[i], domain.hardware[i])) {
      doubts.push_back(std::move(*doubt));
    }
  }
  return doubts;
}

const Fit& FittedScaling::of(const std::string& set) const {
  const auto found = without.find(set);
  return found == without.end() ? all : found->second;
}

ScalingFile load_scaling(std::string_view name) {
  const ConfigMap file = ConfigMap::load(find_config("models", name));
  file.allow_only({"schema", "version", "cases", "build", "sets", "all", "without"});
  expect_schema(file);
  ScalingFile read;
  read.cases = file.text("cases");
  read.build = file.text("build");
  read.sets = read_sets(file);
  const ConfigMap all = file.map("all");
  all.allow_only({"domain", "errors", "parameters"});
  read.fitted.all = read_fit(all);
  read.fitted.without = read_without(file, read.sets);
  return read;
}

std::string scaling_text(const ScalingFile& file) {
  std::string text = fmt::format(
      "{}\n# A model of scaling (docs/explanation/scaling.md), calibrated from published "
      "cases. Do not edit.\nversion: 4\ncases: {}\nbuild: {}\nsets:{}\n",
      first_line, quoted(file.cases), quoted(file.build), file.sets.empty() ? " []" : "");
  for (const auto& [set, trainings] : file.sets) {
    text += fmt::format("  - {{set: {}, trainings: {}}}\n", quoted(set), trainings);
  }
  const Fit& all = file.fitted.all;
  text +=
      fmt::format("all:\n  domain: {}\n  errors: {}\n  parameters:\n{}", domain_text(all.domain),
                  errors_text(all.errors), parameter_lines(all.parameters, "    ", &file.fitted));
  text += fmt::format("without:{}\n", file.fitted.without.empty() ? " []" : "");
  for (const auto& [set, fit] : file.fitted.without) {
    text += fmt::format("  - set: {}\n    domain: {}\n    errors: {}\n    parameters:\n{}",
                        quoted(set), domain_text(fit.domain), errors_text(fit.errors),
                        parameter_lines(fit.parameters, "      ", nullptr));
  }
  return text;
}

bool opens_as_scaling(std::istream& content) {
  std::string line;
  return static_cast<bool>(std::getline(content, line)) && line == first_line;
}

}  // namespace dlscale::model::scaling
