#pragma once
#include <optional>

#include <nlohmann/json.hpp>

#include "core/run.hpp"
#include "core/units.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/time_source.hpp"

namespace dlscale::report {

// Parts that several documents share. Keys keep the order in which they are written.
using Json = nlohmann::ordered_json;

/// A finite number; infinities and NaN are a bug in dlscale, since JSON has none.
Json number(double value);
Json number(Seconds value);
/// null where absent.
Json optional_number(const std::optional<double>& value);
Json optional_number(const std::optional<Seconds>& value);

/// What of a schedule's settings has no effect on the run is null.
Json run_fields(const Run& run);
Json time_fields(const model::IterationTime& time);
/// Where the times of the phases come from; null where nothing is done.
Json basis_fields(const model::PhaseSources& sources);
Json prediction_fields(const model::Prediction& prediction);

/// Indented by two; bytes that are no UTF-8 become U+FFFD.
std::string dump(const Json& json);

}  // namespace dlscale::report
