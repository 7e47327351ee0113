#include "model/published/cases/case_file.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "model/published/cases/json_fields.hpp"

namespace dlscale::cases {
namespace {

constexpr std::string_view training_schema = "dlscale.case/1";
constexpr std::string_view curve_schema = "dlscale.allreduce/1";

/// Collects the cases line by line.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) { file_.path = path; }

  void read(const JsonFields& line) {
    line.expect_spelling({"schema", "id"});
    const std::string schema = line.text("schema");
    if (schema != training_schema && schema != curve_schema) refuse_schema(line);
    expect_one_schema(line, schema);
    expect_new(line);
    if (schema == training_schema) {
      file_.trainings.push_back(read_scaling_case(line));
      file_.outcomes.push_back(read_scaling_outcome(line));
    } else {
      file_.curves.push_back(read_curve_case(line));
      file_.outcomes.push_back(read_curve_outcome(line));
    }
  }

  [[nodiscard]] CaseFile finish() && { return std::move(file_); }

 private:
  [[noreturn]] static void refuse_schema(const JsonFields& line) {
    line.refuse("schema",
                fmt::format("and this program reads {} and {}", training_schema, curve_schema));
  }

  void expect_one_schema(const JsonFields& line, const std::string& schema) {
    if (schema_.empty()) schema_ = schema;
    if (schema != schema_) {
      line.refuse("schema",
                  fmt::format("and the lines before are {}: one file holds one of both", schema_));
    }
  }

  void expect_new(const JsonFields& line) {
    const std::string id = line.text("id");
    const auto [first, is_new] = first_.emplace(id, line.where("id"));
    if (!is_new) line.refuse("id", fmt::format("as in {}", first->second));
  }

  CaseFile file_;
  std::string schema_;
  std::map<std::string, std::string> first_;  ///< first place of each id
};

}  // namespace

void expect_own_set(const JsonFields& line) {
  const std::string set = line.text("set");
  if (!line.text("id").starts_with(set + "/")) {
    line.refuse("id", fmt::format("and set is \"{}\": an id is \"set/slug\"", set));
  }
}

CaseLink read_link(const JsonFields& link) {
  link.expect_spelling({"kind", "nominal_bandwidth_bytes_per_s", "nics"});
  CaseLink read;
  read.kind = link.text("kind");
  read.bandwidth = BytesPerSecond(link.real("nominal_bandwidth_bytes_per_s", bandwidths));
  read.nics = link.count_if("nics", workers);
  return read;
}

Outcome read_outcome(const JsonFields& line) {
  Outcome read;
  read.quality = line.text_if("quality");
  if (!read.quality.empty() && read.quality != "A" && read.quality != "B" && read.quality != "C") {
    line.refuse("quality", "where A, B or C is needed");
  }
  read.weight = line.real_if("weight", {1e-12, 1});
  read.fields = line.plain_values();
  return read;
}

CaseFile read_cases(const std::filesystem::path& path) {
  Reader reader(path);
  for_each_line(path, FileKind::cases, "cases", [&](const JsonFields& line) { reader.read(line); });
  return std::move(reader).finish();
}

}  // namespace dlscale::cases
