#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/suite/definition/suite.hpp"

namespace dlscale::app {

/// What a run of cells was begun with, and goes on with.
struct PlanHead {
  std::string suite;
  std::string build;   ///< the program that measures, in one line
  std::string system;  ///< where: system, partition and launcher
  std::uint64_t seed = 1;
};

/// The cells in the order in which they are carried out: one drawn from the seed, so that what
/// drifts meanwhile falls on none of their axes. The same with every standard library.
std::vector<SuiteCell> in_random_order(std::vector<SuiteCell> cells, std::uint64_t seed);

/// The plan file: JSON Lines, the head {"schema": "dlscale.plan", "version": 1, …} and a line a
/// cell, in their order, with id, command and shape.
std::string plan_text(const PlanHead& head, std::span<const SuiteCell> ordered);

/// The plan of a folder, <out>/plan.jsonl.
std::filesystem::path plan_path(const std::filesystem::path& out);

/// The seed of the plan that lies there; nothing where there is none or it is empty. Throws
/// ConfigError for a file that is none of ours or that is damaged.
std::optional<std::uint64_t> planned_seed(const std::filesystem::path& out);

/// Throws ConfigError saying in what the plan that lies there differs from `text`, where it does:
/// another suite, build, system, or other cells. Nothing where there is none.
void check_plan(const std::filesystem::path& out, const std::string& text);

/// Writes it whole and for good. Throws ConfigError.
void write_plan(const std::filesystem::path& out, const std::string& text);

}  // namespace dlscale::app
