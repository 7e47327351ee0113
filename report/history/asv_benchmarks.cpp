#include "report/history/asv_benchmarks.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/error.hpp"
#include "core/json_problem.hpp"
#include "report/history/strict_json.hpp"

namespace dlscale::report::history {
namespace {

using nlohmann::json;

/// In the words of the rest of the history.
std::string unit_of(const std::string& word) {
  if (word == "seconds") return "s";
  if (word == "bytes") return "B";
  return word == "unit" ? "1" : word;  // asv's word for none
}

ConfigError refusal(const std::filesystem::path& path, const std::string& problem) {
  return ConfigError(fmt::format("what its benchmarks measure cannot be read from {} ({})",
                                 path.lexically_normal().string(), problem));
}

}  // namespace

AsvQuantity asv_quantity(std::string_view benchmark) {
  struct Kind {
    std::string_view function;
    std::string_view type_name;  ///< before a capital letter or "_"
    const char* type;
    const char* unit;
  };
  constexpr std::array<Kind, 5> kinds{{{"time_", "Time", "time", "s"},
                                       {"timeraw_", "Timeraw", "time", "s"},
                                       {"mem_", "Mem", "memory", "B"},
                                       {"peakmem_", "PeakMem", "peakmemory", "B"},
                                       {"track_", "Track", "track", ""}}};
  const std::string_view last = benchmark.substr(benchmark.rfind('.') + 1);
  for (const Kind& kind : kinds) {
    const std::size_t length = kind.type_name.size();
    const bool is_type =
        last.starts_with(kind.type_name) && last.size() > length &&
        (std::isupper(static_cast<unsigned char>(last[length])) != 0 || last[length] == '_');
    if (is_type || last.starts_with(kind.function)) return {kind.type, kind.unit};
  }
  return {};
}

std::string asv_text(const json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

AsvBenchmarks::AsvBenchmarks(const std::string& results_file) {
  namespace fs = std::filesystem;
  const fs::path path = fs::path(results_file).parent_path() / ".." / "benchmarks.json";
  std::error_code unknown;
  if (!fs::is_regular_file(path, unknown)) return;
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::string strict = strict_json(text, BareNumber::quoted);
  try {
    all_ = std::make_unique<json>(json::parse(strict));
  } catch (const json::exception& error) {
    throw refusal(path, json_problem(error, strict));
  }
  if (!all_->is_object()) throw refusal(path, "it is no JSON object");
}

AsvBenchmarks::~AsvBenchmarks() = default;

AsvQuantity AsvBenchmarks::quantity(const std::string& benchmark) const {
  AsvQuantity quantity = asv_quantity(benchmark);
  const json* found = find(benchmark);
  if (found == nullptr) return quantity;
  if (found->contains("type")) quantity.type = asv_text(found->at("type"));
  if (found->contains("unit")) quantity.unit = unit_of(asv_text(found->at("unit")));
  return quantity;
}

std::vector<std::string> AsvBenchmarks::parameter_names(const std::string& benchmark,
                                                        std::size_t count) const {
  std::vector<std::string> names;
  const json* found = find(benchmark);
  if (found != nullptr && found->contains("param_names")) {
    for (const json& one : found->at("param_names")) names.push_back(asv_text(one));
  }
  if (names.size() == count) return names;
  names.clear();
  for (std::size_t i = 1; i <= count; ++i) names.push_back(fmt::format("param{}", i));
  return names;
}

const json* AsvBenchmarks::find(const std::string& benchmark) const {
  if (!are_there()) return nullptr;
  const auto found = all_->find(benchmark);
  return found == all_->end() || !found->is_object() ? nullptr : &*found;
}

}  // namespace dlscale::report::history
