#pragma once
#include <span>
#include <string>
#include <string_view>

#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::app {

/// A sentence on the step of `run` by the model of parallel plans, with fused kernels and with
/// PyTorch's, beside a prediction by kernels of data sheets. Empty where it does not apply: other
/// networks than decoders of equal layers, other precisions than 16 bits, devices without a data
/// sheet, parameter servers, and machines that were measured or whose software a profile names.
std::string plan_remark(const Network& network, const model::Machine& machine, const Run& run);

/// Adds it, where there is one, to the notes of the last of ≥ 1 predictions, and returns it.
std::string add_plan_remark(const Network& network, const model::Machine& machine,
                            std::span<model::Prediction> rows);

/// Widens the intervals of predictions by kernels of data sheets, so that they cover those of both
/// kinds of software, since none is named. Leaves alone what plan_remark() is empty for.
void cover_plans(const Network& network, const model::Machine& machine,
                 std::span<model::Prediction> rows);

/// The sentence of plan_remark() about the memory of a rank of `run`.
std::string plan_memory_remark(const Network& network, const model::Machine& machine,
                               const Run& run);

/// A sentence to add to `why` nothing of a network can be predicted: which plan shards a decoder
/// that is too large for a GPU. Empty for other networks, devices and reasons.
std::string sharding_advice(const Network& network, const model::Machine& machine,
                            std::string_view why);

/// A sentence to add to why --framework cannot be taken, where plans of a decoder know the name.
/// Else empty.
std::string framework_advice(const Network& network, const std::string& framework);

}  // namespace dlscale::app
