#include "regression/statistics/run_statistic.hpp"

namespace dlscale::report {

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

}  // namespace dlscale::report
