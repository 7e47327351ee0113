#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "report/comparison/compare.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Short names of the rows of a comparison: the benchmark, and the axes that vary among its rows.
/// The other axes are said once.
class RowWords {
 public:
  explicit RowWords(std::span<const Comparison> rows);
  /// "conv layer=conv1, pass=forward"
  [[nodiscard]] std::string name(const Comparison& row) const;
  /// Axes that are the same in all rows; empty if there are none.
  [[nodiscard]] const std::string& common() const { return common_; }
  /// "conv: batch=8, …" of each benchmark, if there are several: what else all its rows share.
  [[nodiscard]] std::vector<std::string> own() const;

 private:
  struct OfBenchmark {
    std::vector<std::string> varying;
    std::string constant;  ///< what `common_` does not say
  };
  std::string common_;
  std::map<std::string, OfBenchmark> benchmarks_;
};

/// A side of a comparison and what it compares: "A (results/old)"; "A" where that is its name.
std::string side_name(const std::string& letter, const std::string& name);

/// "different environments (oneDNN_cpu_isa: avx512_core_bf16 | avx2 and 2 more)", of the facts that
/// differ. Requires one.
std::string different_environments(const std::vector<std::string>& facts);

/// Takes a column out of a table if all of its cells say the same, and says it in a note; else
/// numbers its texts, which notes explain. More than a dozen texts are left to other formats. `of`
/// begins the notes: "changes are from".
void say_once(Table& table, const std::string& heading, const std::string& of);

}  // namespace dlscale::report
