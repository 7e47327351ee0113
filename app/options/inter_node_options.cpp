#include "app/options/inter_node_options.hpp"

#include <CLI/CLI.hpp>
#include <string_view>

#include "app/cli/number_sweep.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::app {
namespace {

constexpr BytesPerSecond least_bandwidth(1);

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  std::size_t from = 0;
  for (std::size_t comma = 0; comma != std::string::npos; from = comma + 1) {
    comma = list.find(',', from);
    items.push_back(list.substr(from, comma - from));
  }
  return items;
}

/// An option that was not given stays empty.
template <class Q>
std::vector<std::string> values(std::string_view option, const std::string& list) {
  if (list.empty()) return {""};
  return swept_quantities<Q>(option, split(list));
}

}  // namespace

void InterNodeOptions::declare(CLI::App& command) {
  command
      .add_option("--inter-node-bandwidth,--bandwidth", bandwidth,
                  "Bandwidth of the link between nodes, such as 10Gb/s")
      ->type_name("RATE");
  command
      .add_option("--inter-node-latency,--latency", latency, "Latency of this link, such as 50us")
      ->type_name("TIME");
}

std::vector<InterNodeOptions> InterNodeOptions::each() const {
  std::vector<InterNodeOptions> all;
  const auto latencies = values<Seconds>("--inter-node-latency", latency);
  for (const std::string& rate : values<BytesPerSecond>("--inter-node-bandwidth", bandwidth)) {
    for (const std::string& start : latencies) all.push_back({rate, start});
  }
  return all;
}

void InterNodeOptions::apply(Cluster& cluster) const {
  if (bandwidth.empty() && latency.empty()) return;
  if (bandwidth.empty()) {
    throw ConfigError(
        "--inter-node-latency needs --inter-node-bandwidth beside it: a link has both.");
  }
  LinkSpec& link = cluster.inter_node;
  link.name = "link between nodes, as stated";
  link.bandwidth = parse_quantity<BytesPerSecond>(bandwidth, "--inter-node-bandwidth");
  if (!latency.empty()) link.latency = parse_quantity<Seconds>(latency, "--inter-node-latency");
  if (link.bandwidth < least_bandwidth || link.latency < Seconds()) {
    throw ConfigError(
        "--inter-node-bandwidth must be 1 B/s or more and --inter-node-latency not below 0 (no "
        "link is like that). Write, for example, 10Gb/s and 50us.");
  }
  link.source = "stated on the command line, not measured";
  if (!cluster.nccl) return;
  if (!latency.empty() && cluster.all_reduce == AllReduceRule::nccl) {
    throw ConfigError(
        "--inter-node-latency has no part in NCCL's cost model, which has latencies of its own. "
        "Leave it out, or ask for --all-reduce ring or hierarchical.");
  }
  cluster.nccl->adapter_bandwidth = link.bandwidth / cluster.nccl->adapters;
}

}  // namespace dlscale::app
