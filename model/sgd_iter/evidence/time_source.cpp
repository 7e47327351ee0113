#include "model/sgd_iter/evidence/time_source.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::model {

std::string_view time_source_name(TimeSource source) {
  switch (source) {
    case TimeSource::measured:
      return "measured";
    case TimeSource::fitted:
      return "fitted";
    case TimeSource::other_ranks:
      return "other ranks";
    case TimeSource::interpolated:
      return "interpolated";
    case TimeSource::extrapolated:
      return "extrapolated";
    case TimeSource::unfused:
      return "unfused";
    case TimeSource::efficiency:
      return "efficiency";
    case TimeSource::data_sheet:
      return "data sheet";
  }
  fail_expectation("source is a TimeSource");
}

std::optional<TimeSource> less_sure(std::optional<TimeSource> known, TimeSource more) {
  return known ? std::max(*known, more) : more;
}

}  // namespace dlscale::model
