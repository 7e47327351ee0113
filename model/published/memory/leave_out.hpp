#pragma once
#include <vector>

#include "model/published/memory/memory_case.hpp"
#include "model/published/memory/predict.hpp"

namespace dlscale::model::memory {

/// Predictions of a file's cases, in order. Where an implementation's numbers come from a fit
/// (Implementation::is_fitted), a case is predicted by the same fit to the file's other networks,
/// if one of them ran. So a fit is never judged on the network that it was made from.
std::vector<MemoryPrediction> predict_left_out(const MemoryCaseFile& file);

}  // namespace dlscale::model::memory
