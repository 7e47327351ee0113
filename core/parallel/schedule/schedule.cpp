#include "core/parallel/schedule/schedule.hpp"

#include <fmt/format.h>

#include <string_view>

#include "core/base/error.hpp"

namespace dlscale::parallel {
namespace {

std::string_view words_for(OperationKind kind) {
  switch (kind) {
    case OperationKind::forward:
      return "forward";
    case OperationKind::backward:
      return "backward";
    case OperationKind::backward_input:
      return "backward for the input";
    case OperationKind::backward_weights:
      return "backward for the weights";
    case OperationKind::send_activation:
      return "send of the activation";
    case OperationKind::receive_activation:
      return "receive of the activation";
    case OperationKind::send_gradient:
      return "send of the gradient";
    case OperationKind::receive_gradient:
      return "receive of the gradient";
    case OperationKind::reduce:
      return "reduce";
    case OperationKind::update:
      return "update";
  }
  fail_expectation("a kind of operation");
}

}  // namespace

std::string to_text(const Operation& operation) {
  const std::string_view words = words_for(operation.kind);
  const bool by_micro_batch = is_computing(operation.kind) || is_message(operation.kind);
  if (!by_micro_batch) return fmt::format("{} of part {}", words, operation.part);
  return fmt::format("{} of part {} on micro-batch {}", words, operation.part,
                     operation.micro_batch);
}

}  // namespace dlscale::parallel
