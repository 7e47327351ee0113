#pragma once
#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::report::history {

/// What a benchmark of asv (airspeed velocity) measures.
struct AsvQuantity {
  std::string type;  ///< "time", "memory", "peakmemory", "track", or a plug-in's; empty: not known
  std::string unit;  ///< "s", "B", "1" or as asv has it; empty: not known
  [[nodiscard]] bool is_time() const { return type == "time"; }
  [[nodiscard]] bool is_memory() const { return type == "memory" || type == "peakmemory"; }
};

/// By its name alone, as asv tells types apart (`name_regex` in asv_runner/benchmarks): of what is
/// tracked no unit.
AsvQuantity asv_quantity(std::string_view benchmark);

/// A string as it is, null as no text, and anything else as JSON.
std::string asv_text(const nlohmann::json& value);

/// benchmarks.json, which asv keeps beside the folders of machines: what is measured in which unit,
/// and what parameters are called.
class AsvBenchmarks {
 public:
  /// That of a file of results, RESULTS/MACHINE/FILE.json: RESULTS/benchmarks.json. Throws
  /// ConfigError, naming it, where it is there and damaged.
  explicit AsvBenchmarks(const std::string& results_file);
  ~AsvBenchmarks();
  AsvBenchmarks(const AsvBenchmarks&) = delete;
  AsvBenchmarks& operator=(const AsvBenchmarks&) = delete;

  [[nodiscard]] bool are_there() const { return all_ != nullptr; }
  /// As it is described, else by its name.
  [[nodiscard]] AsvQuantity quantity(const std::string& benchmark) const;
  /// `count` names; "param1", "param2", …, as asv has it, where not that many are told.
  [[nodiscard]] std::vector<std::string> parameter_names(const std::string& benchmark,
                                                         std::size_t count) const;

 private:
  [[nodiscard]] const nlohmann::json* find(const std::string& benchmark) const;

  std::unique_ptr<nlohmann::json> all_;  ///< an object; null: the file is not there
};

}  // namespace dlscale::report::history
