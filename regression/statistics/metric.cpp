#include "regression/statistics/metric.hpp"

namespace dlscale::regression {

std::string_view direction_name(Direction direction) {
  switch (direction) {
    case Direction::smaller_is_better:
      return "smaller_is_better";
    case Direction::larger_is_better:
      return "larger_is_better";
    case Direction::steady:
      return "steady";
  }
  return "";
}

double worse_sign(Direction direction) {
  return direction == Direction::larger_is_better ? -1 : 1;
}

std::string_view run_statistic_name(RunStatistic statistic) {
  switch (statistic) {
    case RunStatistic::minimum:
      return "minimum";
    case RunStatistic::median:
      return "median";
    case RunStatistic::single:
      return "single";
  }
  return "";
}

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::improved:
      return "improved";
    case Verdict::unchanged:
      return "unchanged";
    case Verdict::not_regressed:
      return "not regressed";
    case Verdict::regressed:
      return "regressed";
    case Verdict::shifted:
      return "shifted";
    case Verdict::inconclusive:
      return "inconclusive";
    case Verdict::wrong:
      return "wrong";
  }
  return "";
}

ExitCode exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::improved:
    case Verdict::unchanged:
    case Verdict::not_regressed:
      return ExitCode::ok;
    case Verdict::regressed:
    case Verdict::shifted:
      return ExitCode::regression;
    case Verdict::inconclusive:
      return ExitCode::inconclusive;
    case Verdict::wrong:
      return ExitCode::wrong_result;
  }
  return ExitCode::inconclusive;
}

}  // namespace dlscale::regression
