#include "app/suite/definition/suite_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::app {
namespace {

constexpr IntegerRange shape_range{1, 1'000'000};
constexpr NumberRange seconds_range{0, 1e9};

LaunchShape read_shape(const ConfigMap& cell, const Values& values) {
  LaunchShape shape;
  if (!cell.has("shape")) return shape;
  const ConfigMap map = cell.map("shape");
  map.allow_only({"nodes", "ranks_per_node", "gpus_per_rank", "threads"});
  const auto read = [&](std::string_view key, int& value, IntegerRange range) {
    if (map.has(key)) value = read_count(map, key, values, range);
  };
  read("nodes", shape.nodes, shape_range);
  read("ranks_per_node", shape.ranks_per_node, shape_range);
  read("gpus_per_rank", shape.gpus_per_rank, {0, shape_range.most});
  read("threads", shape.threads, shape_range);
  if (1LL * shape.nodes * shape.ranks_per_node > shape_range.most) {
    throw ConfigError(
        fmt::format("{} asks for more than {} ranks. Write fewer nodes, or fewer "
                    "ranks a node.",
                    map.where(), shape_range.most));
  }
  return shape;
}

/// Values of the row, of the shape, and of the folder that the cell gets when it runs.
Values with_shape(const Values& row, const LaunchShape& shape) {
  Values values = row;
  values["nodes"] = std::to_string(shape.nodes);
  values["ranks_per_node"] = std::to_string(shape.ranks_per_node);
  values["ranks"] = std::to_string(shape.ranks());
  values["gpus_per_rank"] = std::to_string(shape.gpus_per_rank);
  values["threads"] = std::to_string(shape.threads);
  values["cell"] = "{cell}";
  values["result"] = "{cell}/result.jsonl";
  return values;
}

/// The id of a cell, a file name with limited length and characters.
std::string id_of(const ConfigMap& map, const std::string& name) {
  std::string id = name;
  std::ranges::replace(id, '/', '-');
  constexpr std::size_t longest = 150;
  const bool is_plain = std::ranges::none_of(
      id, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
  if (!id.empty() && id.front() != '.' && id.size() <= longest && is_plain) return id;
  throw ConfigError(
      fmt::format("{}: \"{}\" cannot be the name of a folder, as that of a cell is. "
                  "Write 1 to {} printable characters, the first of them no dot.",
                  map.where("name"), name, longest));
}

/// Throws ConfigError for a benchmark that only prints its results.
void check_kept(const ConfigMap& map, const SuiteCell& cell) {
  if (cell.words.front() != "bench") return;
  const bool kept = std::ranges::any_of(
      cell.words, [](const std::string& word) { return word.find("{cell}") != std::string::npos; });
  if (kept) return;
  throw ConfigError(
      fmt::format("{} writes nothing below {{cell}}, so that what it measures would "
                  "be lost. Add -o {{result}}.",
                  map.where("command")));
}

SuiteCell make_cell(const ConfigMap& map, const Values& row) {
  SuiteCell cell;
  cell.shape = read_shape(map, row);
  const Values values = with_shape(row, cell.shape);
  cell.name = show_spaces(fill_in(map.text("name"), values, map.where("name")));
  cell.id = id_of(map, cell.name);
  cell.words = read_command(map, values);
  cell.placed_words = read_command(map, without_folder(values));
  if (map.has("doc")) cell.doc = show_spaces(fill_in(map.text("doc"), values, map.where("doc")));
  cell.seconds = map.number_or("seconds", 10, seconds_range);
  cell.tags = read_tags(map, values);
  cell.timeout_s = map.number_or("timeout", 600, {1, seconds_range.most});
  check_kept(map, cell);
  return cell;
}

}  // namespace

std::vector<SuiteCell> read_cells(const ConfigMap& suite, const Values& values) {
  std::vector<SuiteCell> cells;
  std::map<std::string, std::string> names;  // by folder name
  for (const ConfigMap& map : suite.maps("cells")) {
    map.allow_only({"name", "doc", "for", "shape", "command", "seconds", "timeout", "tags"});
    for (const Values& row : combinations(map, values, cell_limit)) {
      SuiteCell cell = make_cell(map, row);
      const auto [other, is_new] = names.emplace(cell.id, cell.name);
      if (!is_new) {
        throw ConfigError(
            fmt::format("{}: cells are called \"{}\" and \"{}\", which is the same "
                        "folder. Put what tells them apart into the name.",
                        map.where("name"), other->second, cell.name));
      }
      cells.push_back(std::move(cell));
      if (cells.size() > cell_limit.most) {
        throw ConfigError(
            fmt::format("{}: there are more than {} cells. Write fewer values, or "
                        "several suites.",
                        map.where("for"), cell_limit.most));
      }
    }
  }
  if (cells.empty()) suite.refuse("cells", "empty", "Write a list of cells.");
  return cells;
}

}  // namespace dlscale::app
