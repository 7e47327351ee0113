#include "regression/import/nccl_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/error.hpp"
#include "core/text/json_problem.hpp"
#include "regression/import/imports.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

/// A word for one cell; values that are missing are as those that were not measured.
std::string cell_text(const json& parent, const char* name) {
  const auto found = parent.find(name);
  return found == parent.end() || found->is_null() ? "N/A" : value_text(*found);
}

std::string side_text(const json& row, const char* name) {
  const auto side = row.find(name);
  if (side == row.end() || side->is_null()) return " N/A N/A N/A N/A";
  const char* time = side->contains("cpu_time") ? "cpu_time" : "time";
  return fmt::format(" {} {} {} {}", cell_text(*side, time), cell_text(*side, "alg_bw"),
                     cell_text(*side, "bus_bw"), cell_text(*side, "nwrong"));
}

bool times_are_of_processor(const json& results) {
  for (const json& row : results) {
    for (const char* side : {"out_of_place", "in_place"}) {
      if (row.contains(side) && row.at(side).is_object() && row.at(side).contains("cpu_time")) {
        return true;
      }
    }
  }
  return false;
}

std::string config_text(const json& config) {
  std::string text =
      fmt::format("# nThread {} nGpus {} agg iters: {} graph: {}\n", cell_text(config, "nthreads"),
                  cell_text(config, "ngpus"), cell_text(config, "aggregated_iterations"),
                  cell_text(config, "graph"));
  if (cell_text(config, "blocking_collectives") == "true") text += "# Blocking Enabled\n";
  if (!config.contains("devices")) return text;
  for (const json& device : config.at("devices")) {
    text += fmt::format("# Rank {} Pid {} on {} device {} [{}] {}\n", cell_text(device, "rank"),
                        cell_text(device, "pid"), cell_text(device, "hostname"),
                        cell_text(device, "device"), cell_text(device, "device_hex"),
                        cell_text(device, "device_info"));
  }
  return text;
}

}  // namespace

std::string text_of_nccl_json(std::string_view content) {
  try {
    expect_json_depth(content);
    const json document = json::parse(content);
    std::string text =
        fmt::format("# nccl-tests version nccl-library={}\n", cell_text(document, "nccl_version"));
    if (document.contains("args") && !document.at("args").empty()) {
      text += fmt::format("# Collective test starting: {}\n", value_text(document["args"][0]));
    }
    text += config_text(document.at("config"));
    const json& results = document.at("results");
    const char* time = times_are_of_processor(results) ? "cputime" : "time";
    text += fmt::format(
        "# size count type redop root {0} algbw busbw #wrong {0} algbw busbw #wrong\n", time);
    for (const json& row : results) {
      const std::string root = cell_text(row, "root");
      text += fmt::format("{} {} {} {} {}{}{}\n", cell_text(row, "size"), cell_text(row, "count"),
                          cell_text(row, "type"), cell_text(row, "redop"),
                          root.substr(std::min(root.find_first_not_of(' '), root.size())),
                          side_text(row, "out_of_place"), side_text(row, "in_place"));
    }
    if (document.contains("out_of_bounds")) {
      const json& bounds = document.at("out_of_bounds");
      text += fmt::format("# Out of bounds values : {} {}\n", cell_text(bounds, "count"),
                          cell_text(bounds, "okay") == "true" ? "OK" : "FAILED");
    }
    return text;
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, content));
  }
}

}  // namespace dlscale::regression::history
