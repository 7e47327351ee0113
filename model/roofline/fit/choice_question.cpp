#include "model/roofline/fit/choice_question.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/results/usable_rows.hpp"
#include "model/fits/pool.hpp"

namespace dlscale::model {
namespace {

/// A backend and the algorithm requested from it.
using Asked = std::pair<std::string, std::string>;

/// Threads, caches, and whether the device is a GPU.
using Condition = std::tuple<int, std::string, bool>;

Condition condition_of(const Question& question) {
  return {question.threads, question.cache, question.on_device};
}

Asked asked_of(const Measurement& measurement) {
  const auto algorithm = measurement.axes.find("algorithm");
  return {measurement.axes.at("backend"),
          algorithm == measurement.axes.end() ? "chosen" : algorithm->second};
}

/// Returns nothing for rows that kernel_samples() leaves out, whatever their status.
std::optional<Question> parse_question(const Sourced& row) {
  const Measurement& measurement = *row.measurement;
  if (measurement.benchmark != "conv" || !has_normal_values(measurement)) return std::nullopt;
  const auto pass = convolution_pass(row.axis("pass"));
  if (!pass || !row.axis("kernel").starts_with("convolution ")) return std::nullopt;
  const bool comparable = row.axis("dtype") == dtype_name(DType::f32) &&
                          !measurement.axes.contains("layout") && row.count("ranks_on_node") == 1;
  if (!comparable) return std::nullopt;
  return Question{row.axis("kernel"),   row.count("batch"), *pass,
                  row.count("threads"), row.axis("cache"),  on_device(row.axis("backend"))};
}

}  // namespace

Question question_of(const KernelCase& what) {
  const Way& way = what.way;
  return {what.kernel, what.batch, way.pass, way.threads, way.cache, way.on_device()};
}

std::set<Question> complete_questions(std::span<const ResultFile> results) {
  std::map<Condition, std::set<Asked>> measured;
  std::map<Question, std::set<Asked>> answered;
  for (const ResultFile& file : results) {
    for (const Measurement& measurement : file.measurements) {
      const auto question = parse_question({&measurement, file.path.string()});
      if (!question) continue;
      const bool timed = is_timed(measurement);
      const Asked asked = asked_of(measurement);
      const bool known = lowering::method_of(measurement.implementation).has_value();
      if (timed && known) measured[condition_of(*question)].insert(asked);
      if (timed || measurement.status == Status::unsupported) answered[*question].insert(asked);
    }
  }
  std::set<Question> complete;
  for (const auto& [question, asked] : answered) {
    const auto all = measured.find(condition_of(question));
    if (all != measured.end() && std::ranges::includes(asked, all->second)) {
      complete.insert(question);
    }
  }
  return complete;
}

}  // namespace dlscale::model
