#pragma once
#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/system/file_kind.hpp"
#include "model/published/cases/curve_case.hpp"
#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::cases {

/// Parsers for the words of case files. An unknown word becomes `other`. A misspelt word, one that
/// is nearly a known one, throws ConfigError that begins with `where` (file, line and field).
Synchronisation parse_synchronisation(std::string_view word, std::string_view where);
Overlap parse_overlap(std::string_view word, std::string_view where);
Input parse_input(std::string_view word, std::string_view where);
BufferMemory parse_buffer(std::string_view word, std::string_view where);
/// Throws for every unknown word, since CurveTask has no `other`.
CurveTask parse_task(std::string_view word, std::string_view where);

/// The word among `known` of which `word` is probably a misspelling; empty if there is none. Short
/// words are never corrected.
std::string_view meant_by(std::string_view word, std::span<const std::string_view> known);

/// A range of whole numbers from `least` to `most`.
struct WholeRange {
  std::int64_t least;
  std::int64_t most;
};
/// A range of finite numbers from `least` to `most`.
struct RealRange {
  double least;
  double most;
};

/// One object of a line of JSON, read strictly. It is a view, which its line must outlive. Every
/// getter throws ConfigError that names file, line, field, its value and what is needed. An absent
/// field is one that is missing or null.
class JsonFields {
 public:
  /// `place` is "<file>:<line>", `path` the dotted name of the object within the line.
  JsonFields(const nlohmann::json& fields, std::string place, std::string path = {});

  /// Throws for a misspelt key: one that is nearly one of `known`, where that one is missing. Other
  /// keys are ignored. Call it before any getter.
  void expect_spelling(std::initializer_list<std::string_view> known) const;

  [[nodiscard]] bool has(std::string_view key) const;
  /// Whether the key exists, even if its value is null.
  [[nodiscard]] bool mentions(std::string_view key) const;
  /// A text that is not empty, of at most 4096 bytes.
  [[nodiscard]] std::string text(std::string_view key) const;
  /// The text, or an empty one if it is absent.
  [[nodiscard]] std::string text_if(std::string_view key) const;
  [[nodiscard]] std::int64_t whole(std::string_view key, WholeRange range) const;
  [[nodiscard]] std::optional<std::int64_t> whole_if(std::string_view key, WholeRange range) const;
  /// The same for ranges within those of int.
  [[nodiscard]] int count(std::string_view key, WholeRange range) const;
  [[nodiscard]] std::optional<int> count_if(std::string_view key, WholeRange range) const;
  [[nodiscard]] double real(std::string_view key, RealRange range) const;
  [[nodiscard]] std::optional<double> real_if(std::string_view key, RealRange range) const;
  [[nodiscard]] std::optional<bool> flag_if(std::string_view key) const;
  /// Lists; empty if they are absent.
  [[nodiscard]] std::vector<double> reals_if(std::string_view key, RealRange range) const;
  [[nodiscard]] std::vector<std::optional<double>> reals_or_nulls(std::string_view key,
                                                                  RealRange range) const;
  [[nodiscard]] std::vector<std::string> texts_if(std::string_view key) const;
  [[nodiscard]] JsonFields object(std::string_view key) const;
  [[nodiscard]] std::optional<JsonFields> object_if(std::string_view key) const;
  /// A list of at most `most` objects, which must exist.
  [[nodiscard]] std::vector<JsonFields> objects(std::string_view key, std::size_t most) const;

  /// All plain values by their dotted names, in the form of Outcome::fields.
  [[nodiscard]] std::map<std::string, std::string> plain_values() const;

  /// Place of a field: "cases.jsonl:3: run.overlap".
  [[nodiscard]] std::string where(std::string_view key) const;
  /// Throws ConfigError: "<where> is <value>, <why>. <what to do>".
  [[noreturn]] void refuse(std::string_view key, std::string_view why) const;

 private:
  [[nodiscard]] const nlohmann::json* find(std::string_view key) const;
  [[nodiscard]] const nlohmann::json& at(std::string_view key) const;
  [[nodiscard]] const nlohmann::json* list_if(std::string_view key) const;
  [[nodiscard]] std::string name(std::string_view key) const;
  [[nodiscard]] double real_in(const nlohmann::json& value, std::string_view key,
                               RealRange range) const;
  [[noreturn]] void refuse_value(const nlohmann::json& value, std::string_view key,
                                 std::string_view why) const;

  const nlohmann::json* object_;
  std::string place_;
  std::string path_;
};

/// Calls `visit` for every line of a file of JSON lines, in order, except for blank lines. `what`
/// names their content in messages: "cases". Throws ConfigError that names the file, and the number
/// of a line, for:
/// - a path that is not a regular file, or cannot be read, or is empty or too large;
/// - a line that is not a JSON object in UTF-8, or a truncated last line.
void for_each_line(const std::filesystem::path& path, FileKind kind, std::string_view what,
                   const std::function<void(const JsonFields& line)>& visit);

// Each function throws as read_cases() does.

/// Throws unless the id begins with the set and a slash.
void expect_own_set(const JsonFields& line);
/// Reads name, kind and bandwidth.
CaseLink read_link(const JsonFields& link);
/// Reads quality, weight and plain values: everything except the measurements.
Outcome read_outcome(const JsonFields& line);

/// Read a line of the schema dlscale.case/1, and its measurements.
ScalingCase read_scaling_case(const JsonFields& line);
Outcome read_scaling_outcome(const JsonFields& line);

/// Read a line of the schema dlscale.allreduce/1, and its measurements.
CurveCase read_curve_case(const JsonFields& line);
Outcome read_curve_outcome(const JsonFields& line);

// Ranges of numbers. A number beyond is taken for a mistake; results of numbers within stay finite.
inline constexpr WholeRange workers{1, 100'000'000};
inline constexpr WholeRange scalars{1, 1'000'000'000'000'000};
inline constexpr RealRange seconds{1e-12, 1e9};
inline constexpr RealRange samples{1e-9, 1e15};
inline constexpr RealRange rates{1e-9, 1e15};
inline constexpr RealRange bandwidths{1, 1e18};
inline constexpr RealRange byte_counts{1, 1e18};
inline constexpr RealRange fractions{0, 100};

}  // namespace dlscale::cases
