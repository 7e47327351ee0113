#include "model/published/cases/prediction.hpp"

#include <utility>

namespace dlscale::cases {

std::string_view to_string(PredictionStatus status) {
  switch (status) {
    case PredictionStatus::ok:
      return "ok";
    case PredictionStatus::outside_domain:
      return "outside_domain";
    case PredictionStatus::not_covered:
      return "not_covered";
  }
  return "";
}

std::string_view to_string(CaseUnit unit) {
  switch (unit) {
    case CaseUnit::samples_per_s:
      return "samples_per_s";
    case CaseUnit::iteration_s:
      return "iteration_s";
    case CaseUnit::time_s:
      return "time_s";
  }
  return "";
}

CasePrediction not_covered(std::string id, std::string reason) {
  CasePrediction prediction;
  prediction.id = std::move(id);
  prediction.status = PredictionStatus::not_covered;
  prediction.reason = std::move(reason);
  return prediction;
}

}  // namespace dlscale::cases
