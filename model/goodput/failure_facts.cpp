#include "model/goodput/failure_facts.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"

namespace dlscale::model::goodput {
namespace {

/// Failures of the one run that has every cause, over the hours of what failed.
std::array<double, component_count> read_rates(const ConfigMap& run) {
  run.allow_only({"name", "gpus", "gpus_per_node", "hours", "interruptions", "source"});
  static_cast<void>(run.name("name"));
  static_cast<void>(run.text("source"));
  const double gpus = run.integer("gpus", {1, 1'000'000});
  const double nodes = gpus / run.integer("gpus_per_node", {1, 1000});
  const double hours = run.number("hours", {1, 1e6});
  const ConfigMap counts = run.map("interruptions");
  counts.allow_only({"gpu", "node", "network", "software"});
  std::array<double, component_count> rates{};
  for (std::size_t i = 0; i < component_count; ++i) {
    const bool of_nodes = static_cast<Component>(i) == Component::host;
    const int count = counts.integer(component_names[i], {1, 1'000'000});
    rates[i] = count / (hours * (of_nodes ? nodes : gpus));
  }
  return rates;
}

/// The interval of published totals over the total of the run, whose GPUs are `per_node` a node.
Uncertain read_spread(const ConfigMap& file, const std::array<double, component_count>& rates) {
  const double per_node = file.map("run").integer("gpus_per_node", {1, 1000});
  const double of_one_gpu = rates[0] + rates[1] / per_node + rates[2] + rates[3];
  std::vector<double> logs;
  for (const ConfigMap& one : file.maps("clusters")) {
    one.allow_only({"name", "gpu_hours", "source"});
    static_cast<void>(one.name("name"));
    static_cast<void>(one.text("source"));
    logs.push_back(std::log(one.number("gpu_hours", {1, 1e9}) * of_one_gpu));
  }
  if (logs.size() < 2) file.refuse("clusters", "fewer than two", "Name two clusters or more.");
  double mean = 0;
  for (const double one : logs) mean += one / static_cast<double>(logs.size());
  double squares = 0;
  for (const double one : logs) squares += (one - mean) * (one - mean);
  const double wide = quantile_of_95 * std::sqrt(squares / static_cast<double>(logs.size() - 1));
  return {1, std::min(1.0, std::exp(mean - wide)), std::max(1.0, std::exp(mean + wide))};
}

struct AssumedKey {
  std::string_view key;
  Uncertain FailureFacts::*value;
  NumberRange range;
};
constexpr NumberRange times{0, 1e6};
constexpr NumberRange power_share{0, 10};
constexpr std::array assumed_keys{
    AssumedKey{"restart_s", &FailureFacts::restart_s, times},
    AssumedKey{"repair_h", &FailureFacts::repair_h, times},
    AssumedKey{"write_share", &FailureFacts::write_share, {1e-3, 10}},
    AssumedKey{"node_disk_copies", &FailureFacts::node_disk_copies, {1, 10}},
    AssumedKey{"computing_power", &FailureFacts::computing_power, power_share},
    AssumedKey{"exposed_power", &FailureFacts::exposed_power, power_share},
    AssumedKey{"idle_power", &FailureFacts::idle_power, power_share},
    AssumedKey{"host_power", &FailureFacts::host_power, power_share},
};

Uncertain read_uncertain(const ConfigMap& map, const NumberRange& range) {
  map.allow_only({"value", "low", "high", "source"});
  static_cast<void>(map.text("source"));
  Uncertain read;
  read.low = map.number("low", range);
  read.value = map.number("value", {read.low, range.most});
  read.high = map.number("high", {read.value, range.most});
  return read;
}

void read_assumed(const ConfigMap& map, FailureFacts& facts) {
  std::vector<std::string_view> names;
  for (const AssumedKey& one : assumed_keys) names.push_back(one.key);
  map.allow_only(names);
  for (const AssumedKey& one : assumed_keys) {
    facts.*one.value = read_uncertain(map.map(one.key), one.range);
  }
}

}  // namespace

FailureFacts load_failure_facts(const std::filesystem::path& path) {
  const ConfigMap file = ConfigMap::load(path);
  file.allow_only({"schema", "version", "run", "clusters", "assumed"});
  if (file.text("schema") != "dlscale.failures") {
    file.refuse("schema", "another kind of file", "Write dlscale.failures.");
  }
  static_cast<void>(file.integer("version", {1, 1}));
  FailureFacts facts;
  facts.rate_h = read_rates(file.map("run"));
  facts.mtbf_scale = read_spread(file, facts.rate_h);
  read_assumed(file.map("assumed"), facts);
  return facts;
}

const FailureFacts& failure_facts() {
  static const FailureFacts facts = load_failure_facts(find_config("models", "failures"));
  return facts;
}

}  // namespace dlscale::model::goodput
