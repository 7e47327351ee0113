#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/ids.hpp"

namespace dlscale::parallel {

/// A pipeline cuts a network into stages × chunks parts of consecutive layers, numbered in forward
/// order, and the samples of an iteration into micro-batches.
struct PipelineShape {
  int stages = 1;         ///< ranks of the pipeline, ≥ 1
  int chunks = 1;         ///< parts of a rank, ≥ 1
  int micro_batches = 1;  ///< ≥ 1
  [[nodiscard]] int parts() const { return stages * chunks; }
  bool operator==(const PipelineShape&) const = default;
};

/// The work of a rank at one point of its list.
enum class OperationKind : std::uint8_t {
  forward,             ///< keeps what backward reads
  backward,            ///< gradients of the part's input and weights
  backward_input,      ///< the gradient of the input alone; backward_weights follows later
  backward_weights,    ///< adds to the gradient of the weights
  send_activation,     ///< the part's output, to the rank of the next part
  receive_activation,  ///< the part's input, from the rank of the part before
  send_gradient,       ///< of the part's input, to the rank of the part before
  receive_gradient,    ///< of the part's output, from the rank of the next part
  reduce,              ///< begins the sum of the part's gradients over all ranks that hold the part
  update,              ///< waits for that sum, and updates the part's weights
};
constexpr bool is_message(OperationKind kind) {
  return kind >= OperationKind::send_activation && kind <= OperationKind::receive_gradient;
}
constexpr bool is_send(OperationKind kind) {
  return kind == OperationKind::send_activation || kind == OperationKind::send_gradient;
}
constexpr bool is_computing(OperationKind kind) {
  return kind <= OperationKind::backward_weights;
}

/// One entry of a list. It names a part that the rank itself holds: a send the one that made the
/// tensor, a receive the one that reads it.
struct Operation {
  OperationKind kind = OperationKind::forward;
  int part = 0;
  int micro_batch = 0;  ///< 0 for reduce and update
  Rank peer = 0;        ///< the rank of the pipeline at the other end of a message, else 0
  bool operator==(const Operation&) const = default;
};

/// "forward of part 1 on micro-batch 2", for messages and traces.
std::string to_text(const Operation& operation);

/// The lists that the ranks of a pipeline work through, each in order. They name neither times nor
/// devices, so that training runs the lists that the model simulates.
///
/// A receive waits until its message is there. `reduce` goes on at once, and `update` waits until
/// all ranks of the pipeline that hold the part have begun its sum. Messages of a kind, activations
/// or gradients, from one rank to another arrive in the order in which they were sent.
struct Schedule {
  PipelineShape shape = {};
  /// Copies of the network that the ranks hold: 2 if part p also lies on rank stages - 1 - p.
  int copies = 1;
  std::vector<std::vector<Operation>> ranks = {};
};

/// Conduct of a send that comes before its receive.
enum class Delivery {
  eager,       ///< it goes on, and a thread of its own carries the message
  rendezvous,  ///< it waits until the other rank receives
};

}  // namespace dlscale::parallel
