#pragma once
#include <omp.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/onednn/compat.hpp"

namespace dlscale::backend::onednn_device {

/// State that the operations of a device share. The device outlives them.
struct Context {
  dnnl::engine engine;
  dnnl::stream stream;
  int threads = 1;
};

/// Sets the number of OpenMP threads for a call, and restores it afterwards, which costs
/// nanoseconds. OpenMP keeps this number per calling thread, and oneDNN reads it when it makes a
/// primitive and again when it runs one. So every thread that calls the device needs it.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) {
    omp_set_dynamic(0);  // OMP_DYNAMIC would let the library start fewer
    omp_set_num_threads(threads);
  }
  ~ThreadScope() { omp_set_num_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

/// The operands of a call, by role.
enum class Role {
  input,
  output,
  parameter,
  output_gradient,
  input_gradient,
  parameter_gradient,
  state,
  scratch,
};

struct OperandPlace {
  Role role;
  std::size_t index = 0;  ///< index of the tensor, or of the first byte in state and scratch
};

/// Bytes that a tensor takes in the state or the scratch memory, where tensors begin at multiples
/// of 64 bytes.
inline std::size_t aligned_bytes(const Desc& desc) {
  return (desc.get_size() + 63) / 64 * 64;
}

/// An operand in the order in which the network keeps it.
struct Endpoint {
  OperandPlace place;
  Desc desc;
};

enum class Access { read, write };

/// An argument of a primitive (DNNL_ARG_*) or of a loop.
struct Argument {
  int id;
  Access access;
  Endpoint endpoint;
};

inline Argument reads(int id, const Endpoint& endpoint) {
  return {id, Access::read, endpoint};
}
inline Argument writes(int id, const Endpoint& endpoint) {
  return {id, Access::write, endpoint};
}

/// The steps of one pass of an operation: primitives and loops of our own, with the reorders
/// between the network's layouts and the primitives'. Everything is created once; run() only points
/// the library's memory objects at the operands.
class PassPlan {
 public:
  /// A loop gets the addresses of its arguments, in their order.
  using Addresses = std::vector<std::byte*>;
  using Loop = std::function<void(const Addresses&, const Operands&)>;

  explicit PassPlan(const Context& context) : context_(&context) {}

  /// Appends a primitive; each argument is reordered to or from the primitive's layout.
  void add(const dnnl::primitive_desc_base& primitive, const std::vector<Argument>& arguments);
  /// Appends a loop. Each argument is reordered to or from the layout given with it.
  void add_loop(const std::vector<std::pair<Argument, Desc>>& arguments, Loop loop);
  /// Appends a copy between two orders or precisions.
  void add_reorder(const Endpoint& from, const Endpoint& to);
  /// Reserves scratch memory for a tensor between two steps.
  Endpoint scratch(const Desc& desc);

  [[nodiscard]] std::size_t scratch_bytes() const { return scratch_bytes_; }
  /// Names of the steps in the library's words: "reorder+jit:avx512_core".
  [[nodiscard]] const std::string& implementation() const { return implementation_; }
  /// Whether a step needs an activation or its gradient in another order than the network keeps.
  [[nodiscard]] bool reorders_activations() const { return reorders_activations_; }
  /// Throws LibraryError.
  void run(const Operands& operands);

 private:
  struct Binding {
    dnnl::memory memory;
    OperandPlace place;
    std::byte* bound = nullptr;
  };
  struct PrimitiveCall {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> arguments;
    std::string name;
  };
  struct LoopCall {
    std::vector<dnnl::memory> arguments;
    Addresses addresses;
    Loop loop;
  };
  using Step = std::variant<PrimitiveCall, LoopCall>;
  /// Reorders that must follow the current step.
  using Trailing = std::vector<std::pair<Endpoint, Endpoint>>;

  dnnl::memory bind(const Desc& desc, OperandPlace place);
  dnnl::memory bind(const Argument& argument, const Desc& wanted, Trailing& trailing);
  void append(Step step, const std::string& name);
  void append_trailing(const Trailing& trailing);
  void execute(PrimitiveCall& call) const;
  static void execute(LoopCall& call, const Operands& operands);

  const Context* context_;
  std::vector<Binding> bindings_;
  std::vector<Step> steps_;
  std::size_t scratch_bytes_ = 0;
  std::string implementation_;
  bool reorders_activations_ = false;
};

}  // namespace dlscale::backend::onednn_device
