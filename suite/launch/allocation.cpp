#include "suite/launch/allocation.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale::suite {
namespace {

using Lookup = std::function<const char*(const char*)>;

int count(const char* text) {
  if (text == nullptr) return 0;
  const std::string_view view(text);
  int value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  return error == std::errc() && end == view.data() + view.size() && value > 0 ? value : 0;
}

std::string text(const char* value) {
  return value == nullptr ? "" : value;
}

/// Reads names of nodes; PBS lists a node once for each of its ranks.
std::set<std::string> names_in(const char* file) {
  std::set<std::string> names;
  std::ifstream stream(file);
  for (std::string name; std::getline(stream, name);) {
    if (!name.empty()) names.insert(name);
  }
  return names;
}

/// The options of the job; empty if it was submitted without any.
std::vector<std::string> job_options(const char* text) {
  if (text == nullptr) return {};
  try {
    return nlohmann::json::parse(text).get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    throw ConfigError(
        fmt::format("{} is \"{}\", and should be a list of the options that this job was submitted "
                    "with, in JSON, as scripts of dlscale set it. Unset it.",
                    job_options_variable, escape_for_terminal(text)));
  }
}

std::optional<Allocation> find_nodes(const Lookup& variable) {
  if (const char* job = variable("SLURM_JOB_ID"); job != nullptr) {
    return Allocation{Scheduler::slurm,
                      job,
                      count(variable("SLURM_JOB_NUM_NODES")),
                      text(variable("SLURM_JOB_NODELIST")),
                      {}};
  }
  if (const char* file = variable("PBS_NODEFILE"); file != nullptr) {
    const std::set<std::string> names = names_in(file);
    return Allocation{Scheduler::pbs,
                      text(variable("PBS_JOBID")),
                      static_cast<int>(names.size()),
                      fmt::format("{}", fmt::join(names, ",")),
                      {}};
  }
  // Flux's broker hides the job's variables from the programs that it starts.
  if (variable("FLUX_URI") != nullptr) return Allocation{Scheduler::flux, "", 0, "", {}};
  return std::nullopt;
}

}  // namespace

std::optional<Allocation> find_allocation(const Lookup& variable) {
  std::optional<Allocation> allocation = find_nodes(variable);
  if (allocation) allocation->options = job_options(variable(job_options_variable));
  return allocation;
}

}  // namespace dlscale::suite
