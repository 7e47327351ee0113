#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "suite/definition/suite.hpp"
#include "suite/launch/slurm.hpp"

namespace dlscale::suite {

/// The facts that a run of cells begins with and keeps when it resumes.
struct PlanHead {
  std::string suite;
  std::string build;   ///< the program that measures, in one line
  std::string system;  ///< system, partition and launcher
  std::uint64_t seed = 1;
};

/// The cells in their order of execution. It is drawn from the seed, so that drift falls on none of
/// their axes, and is the same with every standard library.
std::vector<SuiteCell> in_random_order(std::vector<SuiteCell> cells, std::uint64_t seed);

/// The plan file as JSON Lines: the head {"schema": "dlscale.plan", "version": 1, …}, then one line
/// for each cell, in order, with id, command and shape.
std::string plan_text(const PlanHead& head, std::span<const SuiteCell> ordered);

/// The plan of a folder, <out>/plan.jsonl.
std::filesystem::path plan_path(const std::filesystem::path& out);

/// The seed of the existing plan; nothing if there is none or it is empty. Throws ConfigError if
/// the file is not a plan of dlscale or is damaged.
std::optional<std::uint64_t> planned_seed(const std::filesystem::path& out);

/// Throws ConfigError if the existing plan differs from `text`, and names the difference: another
/// suite, build, system, or other cells. Does nothing without a plan.
void check_plan(const std::filesystem::path& out, const std::string& text);

/// Writes the plan completely and durably. Throws ConfigError.
void write_plan(const std::filesystem::path& out, const std::string& text);

/// The nodes of a partition that cells run on, each by itself: the "idle" ones, or "all" that can
/// be used. Nodes that have begun in the folder `out` are included, since their jobs may still run.
std::vector<std::string> nodes_to_try(const std::vector<SlurmNode>& nodes, const std::string& which,
                                      const std::filesystem::path& out);

}  // namespace dlscale::suite
