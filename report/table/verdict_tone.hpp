#pragma once
#include "regression/statistics/metric.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// The colour of a verdict in tables and on pages.
inline Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::improved:
      return Tone::good;
    case Verdict::unchanged:
    case Verdict::not_regressed:
      return Tone::plain;
    case Verdict::regressed:
    case Verdict::shifted:
    case Verdict::wrong:
      return Tone::bad;
    case Verdict::inconclusive:
      return Tone::caution;
  }
  return Tone::plain;
}

}  // namespace dlscale::report
