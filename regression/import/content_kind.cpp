#include "regression/import/content_kind.hpp"

#include <cctype>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/system/input_file.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

/// Reads the keys of the outermost object in turn until they identify the kind.
class KeyReader : public nlohmann::json_sax<json> {
 public:
  /// Kind identified by the keys so far. For damaged JSON, only these keys exist.
  [[nodiscard]] ContentKind kind() const {
    if (told_) return *told_;
    if (has_context_) return ContentKind::google_benchmark;
    return has_results_ ? ContentKind::hyperfine : ContentKind::unknown;
  }
  [[nodiscard]] bool is_told() const { return told_.has_value(); }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool string(string_t& text) override {
    if (depth_ != 1 || key_ != "schema") return value();
    if (text == "dlscale.result") return tell(ContentKind::result);
    if (text == "dlscale.validation") return tell(ContentKind::validation);
    return tell(ContentKind::unknown);
  }
  bool key(string_t& name) override {
    if (is_in_first_result()) {
      // hyperfine calls each result by its command; other programs have lists of results, too.
      return name != "command" || tell(ContentKind::hyperfine);
    }
    if (depth_ != 1) return true;
    key_ = name;
    if (name == "nccl_version") return tell(ContentKind::nccl_tests);  // option -J
    has_context_ = has_context_ || name == "context";
    has_benchmarks_ = has_benchmarks_ || name == "benchmarks";
    has_results_ = has_results_ || name == "results";
    return !(has_context_ && has_benchmarks_) || tell(ContentKind::google_benchmark);
  }
  bool start_object(std::size_t) override {
    if (depth_ == 1 && key_ == "results") return tell(ContentKind::unknown);
    ++depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0) return tell(ContentKind::unknown);
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (is_in_first_result()) return tell(ContentKind::unknown);
    --depth_;
    return depth_ > 0 || tell(ContentKind::unknown);  // complete, without a known key
  }
  bool end_array() override {
    --depth_;
    return depth_ != 1 || key_ != "results" || tell(ContentKind::hyperfine);  // an empty list
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }

 private:
  /// Inside the object that is the first of a list "results".
  [[nodiscard]] bool is_in_first_result() const { return depth_ == 3 && key_ == "results"; }
  bool value() { return depth_ > 0 || tell(ContentKind::unknown); }
  /// Stops reading.
  bool tell(ContentKind kind) {
    told_ = kind;
    return false;
  }

  std::optional<ContentKind> told_;
  std::size_t depth_ = 0;
  std::string key_;
  bool has_context_ = false;
  bool has_benchmarks_ = false;
  bool has_results_ = false;
};

ContentKind kind_of_text(std::string_view text) {
  if (text.find(":::MLLOG ") != std::string_view::npos) return ContentKind::mllog;
  if (text.find("# OSU ") != std::string_view::npos) return ContentKind::osu;
  const bool nccl = text.find("nThread ") != std::string_view::npos ||
                    text.find("busbw") != std::string_view::npos;
  return nccl ? ContentKind::nccl_tests : ContentKind::unknown;
}

/// For JSON that ends or breaks before its keys identify it: a header has the schema anywhere in
/// its first line.
bool names_results_in_first_line(std::string_view content) {
  return content.substr(0, content.find('\n')).find("\"dlscale.result\"") != content.npos;
}

}  // namespace

ContentKind kind_of_content(std::string_view content) {
  const std::size_t start = content.find_first_not_of(" \t\n\v\f\r");
  const bool is_object = start != content.npos && content[start] == '{';
  if (names_results_in_first_line(content) && !is_object) return ContentKind::result;
  if (!is_object) return kind_of_text(content);
  KeyReader keys;
  json::sax_parse(content, &keys, json::input_format_t::json, /*strict=*/false);
  if (!keys.is_told() && names_results_in_first_line(content)) return ContentKind::result;
  return keys.kind();
}

ContentKind kind_of_file(const std::filesystem::path& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return ContentKind::unknown;
  if (!std::ifstream(path)) return ContentKind::unknown;
  return kind_of_content(read_input(path, "Check the path."));
}

}  // namespace dlscale::regression::history
