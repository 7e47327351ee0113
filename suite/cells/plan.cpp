#include "suite/cells/plan.hpp"

#include <fmt/format.h>

#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/error.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output_file.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::string_view plan_schema = "dlscale.plan";
constexpr int plan_version = 1;

std::string to_line(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ordered_json cell_json(const SuiteCell& cell) {
  return {{"cell", cell.id},
          {"command", cell.placed_words},
          {"nodes", cell.shape.nodes},
          {"ranks_per_node", cell.shape.ranks_per_node},
          {"gpus_per_rank", cell.shape.gpus_per_rank},
          {"threads", cell.shape.threads}};
}

struct ReadPlan {
  PlanHead head;
  std::map<std::string, std::string> cells;  ///< id → its line
};

[[noreturn]] void refuse_damaged(const fs::path& path, const std::string& why) {
  throw ConfigError(
      fmt::format("{} is damaged ({}), so it is not known what the results beside it are of. Name "
                  "another folder with -o, or give --restart, for all cells, to discard them.",
                  path.string(), why));
}

ReadPlan parse_plan(const fs::path& path, const std::string& text) {
  std::istringstream stream(text);
  ReadPlan plan;
  std::string line;
  try {
    std::getline(stream, line);
    const auto head = nlohmann::json::parse(line);
    if (head.at("version") != plan_version) refuse_damaged(path, "of another version");
    if (!head.at("seed").is_number_unsigned())
      refuse_damaged(path, "its seed is not a whole number");
    plan.head = {head.at("suite"), head.at("build"), head.at("system"), head.at("seed")};
    while (std::getline(stream, line)) {
      plan.cells.emplace(nlohmann::json::parse(line).at("cell").get<std::string>(), line + "\n");
    }
    if (head.at("cells") != plan.cells.size()) {
      refuse_damaged(path, "it lacks cells");
    }
  } catch (const nlohmann::json::exception&) {
    refuse_damaged(path, "a line is not JSON of a plan");
  }
  return plan;
}

/// The text of a plan file; empty if there is none.
std::string read_plan(const fs::path& path) {
  refuse_foreign_file(path, "the plan of a suite", [](std::istream& content) {
    return opens_with_schema(content, plan_schema);
  });
  return content_of(path);
}

/// A clause that names the difference between the cells of two plans.
std::string cells_difference(const ReadPlan& old, const ReadPlan& now) {
  for (const auto& [id, line] : now.cells) {
    const auto found = old.cells.find(id);
    if (found == old.cells.end()) return fmt::format("it lacked the cell \"{}\"", id);
    if (found->second != line)
      return fmt::format("its cell \"{}\" had another command or shape", id);
  }
  for (const auto& [id, line] : old.cells) {
    if (!now.cells.contains(id)) return fmt::format("it had the cell \"{}\", too", id);
  }
  return "their order was another";
}

std::string difference(const ReadPlan& old, const ReadPlan& now) {
  if (old.head.suite != now.head.suite) return fmt::format("of the suite {}", old.head.suite);
  if (old.head.build != now.head.build) {
    return fmt::format("measured by another build ({})", old.head.build);
  }
  if (old.head.system != now.head.system) return fmt::format("of {}", old.head.system);
  if (old.head.seed != now.head.seed) return fmt::format("of --seed {}", old.head.seed);
  return "of other cells: " + cells_difference(old, now);
}

}  // namespace

std::vector<SuiteCell> in_random_order(std::vector<SuiteCell> cells, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t left = cells.size(); left > 1; --left) {
    // Numbers at the end of the range are drawn again, since they would favour some choices.
    const std::uint64_t most = random.max() - random.max() % left;
    std::uint64_t drawn = random();
    while (drawn >= most) drawn = random();
    std::swap(cells[left - 1], cells[drawn % left]);
  }
  return cells;
}

std::string plan_text(const PlanHead& head, std::span<const SuiteCell> ordered) {
  std::string text = to_line({{"schema", plan_schema},
                              {"version", plan_version},
                              {"suite", head.suite},
                              {"build", head.build},
                              {"system", head.system},
                              {"seed", head.seed},
                              {"cells", ordered.size()}});
  for (const SuiteCell& cell : ordered) text += to_line(cell_json(cell));
  return text;
}

fs::path plan_path(const fs::path& out) {
  return out / "plan.jsonl";
}

std::optional<std::uint64_t> planned_seed(const fs::path& out) {
  const std::string text = read_plan(plan_path(out));
  if (text.empty()) return std::nullopt;
  return parse_plan(plan_path(out), text).head.seed;
}

void check_plan(const fs::path& out, const std::string& text) {
  const fs::path path = plan_path(out);
  const std::string old = read_plan(path);
  if (old.empty() || old == text) return;
  throw ConfigError(
      fmt::format("the cells in {} are {} (results of both would be taken for one). Name another "
                  "folder with -o, or give --restart, for all cells, to discard them.",
                  out.string(), difference(parse_plan(path, old), parse_plan(path, text))));
}

void write_plan(const fs::path& out, const std::string& text) {
  write_for_good(plan_path(out), text);
}

std::vector<std::string> nodes_to_try(const std::vector<SlurmNode>& nodes, const std::string& which,
                                      const fs::path& out) {
  std::vector<std::string> names;
  for (const SlurmNode& node : nodes) {
    std::error_code absent;
    const bool wanted = which == "all" ? node.usable() : node.idle();
    if (wanted || fs::exists(plan_path(out / node.name), absent)) names.push_back(node.name);
  }
  return names;
}

}  // namespace dlscale::suite
