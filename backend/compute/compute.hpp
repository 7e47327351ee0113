#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/family.hpp"
#include "core/base/units.hpp"
#include "core/network/gemm.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"

namespace dlscale::backend {

/// Where the elements of a tensor lie. `handle` belongs to the backend that made the layout.
/// Two layouts are the same if name and bytes are.
struct Layout {
  std::string name;       ///< "nchw", "nChw16c", …: the library's word
  std::size_t bytes = 0;  ///< of the whole tensor, padding included
  std::shared_ptr<const void> handle;
  bool operator==(const Layout& other) const { return name == other.name && bytes == other.bytes; }
};

/// Orders of activations that can be asked for: the dimensions from the outermost to the innermost;
/// blocked: with as many channels side by side as the device computes at once.
enum class LayoutKind { nchw, nhwc, blocked };

/// A logical N × C × H × W tensor. Weights are O × I/groups × R × S; vectors are N × 1 × 1 × 1.
struct TensorDesc {
  std::array<std::int64_t, 4> dims{};
  DType dtype = DType::f32;
  Layout layout;
  [[nodiscard]] std::int64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
};

/// Does not own its memory.
struct Tensor {
  TensorDesc desc;
  std::byte* data = nullptr;
  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

enum class ParameterRole { weight, bias, scale, shift };

/// A learned tensor of an operation. `value` and `gradient` have the same dims and, element for
/// element, the same order in memory; the gradient is f32, the value has the operation's dtype for
/// weights and f32 for the rest.
struct Parameter {
  ParameterRole role;
  TensorDesc value;
  TensorDesc gradient;
};

struct OperationSpec {
  Layer layer;
  int batch = 1;
  DType dtype = DType::f32;
  std::vector<TensorDesc> inputs;  ///< in the layouts in which the producers leave them
  /// Of the output, too, where one was asked for (laid_out()); nothing: the device chooses it.
  std::optional<LayoutKind> layout = std::nullopt;
};

/// The memory an operation works on. Unused members stay empty.
struct Operands {
  std::span<const Tensor> inputs;
  Tensor output;
  std::span<const Tensor> parameters;
  Tensor output_gradient;                       ///< same desc as output; with a ReLU also written
  std::span<const Tensor> input_gradients;      ///< same descs as inputs; written, not added to
  std::span<const Tensor> parameter_gradients;  ///< written, not added to
  std::byte* state = nullptr;                   ///< state_bytes(), kept from forward to backward
  std::byte* scratch = nullptr;                 ///< scratch_bytes(), shared by all operations
  std::span<const std::int32_t> labels;         ///< loss only: one class per image
  std::uint64_t seed = 0;                       ///< dropout only: the mask is a function of it
  /// Dropout only: memory of the device with the seed, read when the pass runs, not when it is
  /// given, so that a Recording draws anew. Null: `seed` counts. Only devices that record() need
  /// it.
  const std::uint64_t* seed_memory = nullptr;
  /// kept_bytes(), zeroed before the first run, at a multiple of 64: where an operation keeps what
  /// it has made of its weights from run to run. Null: it makes it anew every time.
  std::byte* kept = nullptr;
  /// A number that stays only as long as the weights do; 0: they may have changed, what is kept is
  /// made anew. Training, which changes them every iteration, leaves both alone.
  std::uint64_t weights_version = 0;
};

/// One layer, prepared for one batch size and one set of layouts: created once, run many times.
/// Reorders that the layouts make necessary belong to it, and to its time.
///
/// Loss layers: output is N × 1 × 1 × 1, the unweighted -log p[label] of each image in f32;
/// backward_data needs no output_gradient and writes loss_weight / N · (p - onehot).
/// Batch norm: backward_data writes both input and parameter gradients; parameters are
/// scale, shift. Concat and Sum: backward_data of Sum is never called (see core/network/step.hpp).
///
/// Layers with a ReLU (Layer::relu): output and output_gradient are those of the ReLU. Their first
/// backward pass (in the order of core/network/step.hpp) takes output_gradient for zero where output is not
/// positive, and may set it to zero there. backward_filter of a convolution always does, once for
/// both of its passes: backward_data has to come after it, on what it left. A sum has
/// backward_data, which writes one input gradient, with the desc of the first input, for all.
///
/// Pass::accumulate is not an operation: see ComputeDevice::accumulate.
class Operation {
 public:
  virtual ~Operation() = default;
  [[nodiscard]] virtual const TensorDesc& output() const = 0;
  [[nodiscard]] virtual const std::vector<Parameter>& parameters() const = 0;
  [[nodiscard]] virtual std::size_t state_bytes() const = 0;
  /// Of the pass that needs most.
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// Of one pass alone, which has(); that of the largest where the device does not tell them apart.
  [[nodiscard]] virtual std::size_t pass_scratch_bytes(Pass /*pass*/) const {
    return scratch_bytes();
  }
  /// What it keeps of its weights where Operands::weights_version lets it.
  [[nodiscard]] virtual std::size_t kept_bytes() const { return 0; }
  [[nodiscard]] virtual bool has(Pass pass) const = 0;
  /// What runs, in the library's words, with its reorders: "reorder+jit:avx512_core".
  [[nodiscard]] virtual std::string implementation(Pass pass) const = 0;
  /// Whether the pass computes on inputs, output or their gradients in another order than they lie
  /// in: on copies, which its time and its implementation() include.
  [[nodiscard]] virtual bool reorders_activations(Pass /*pass*/) const { return false; }
  /// Throws LibraryError. Returns when done or enqueued; ComputeDevice::synchronize waits.
  virtual void run(Pass pass, const Operands& operands) = 0;
};

/// A way to run one pass of an operation: an algorithm of a library, by its name.
struct Algorithm {
  std::string name;
  /// The operation, with that pass this way. Throws Unsupported with the reason where the library
  /// does not offer it.
  std::function<std::unique_ptr<Operation>()> create;
};

/// A matrix product, prepared for one shape: created once, run many times.
class MatrixProduct {
 public:
  virtual ~MatrixProduct() = default;
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// What runs, in the library's words.
  [[nodiscard]] virtual std::string implementation() const = 0;
  /// C = op(A) · op(B) of three dense matrices in memory of the device, in the dtype it was made
  /// for, sums in f32. Throws LibraryError. Returns when done or enqueued.
  virtual void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) = 0;
};

/// Of the red, green and blue of all pictures, on a scale of 0 to 1.
struct PictureStatistics {
  std::array<float, 3> mean{};
  std::array<float, 3> deviation{};
};

/// SGD with momentum and weight decay, in the form of Caffe and PyTorch:
///   g' = g · gradient_scale + weight_decay · w;  v = momentum · v + g';  w = w - rate · v
struct SgdStep {
  float rate = 0.01F;
  float momentum = 0.9F;
  float weight_decay = 1e-4F;
  float gradient_scale = 1.0F;  ///< 1/ranks turns the sum of an all-reduce into the mean
};

struct ComputeOptions {
  int threads = 1;  ///< of a processor
  int place = 0;    ///< number of the device, where there are several
};

/// Frees memory the way it was allocated.
struct FreeBuffer {
  void (*free)(std::byte*) noexcept = nullptr;
  void operator()(std::byte* p) const noexcept { free(p); }
};
/// Memory aligned for the widest vectors. What is a device's own must go before the device does.
using Buffer = std::unique_ptr<std::byte[], FreeBuffer>;

/// A point in the order of what a device was given to do.
class Mark {
 public:
  virtual ~Mark() = default;
  /// Returns when everything given before the mark is done. Any thread may wait.
  virtual void wait() const = 0;
  /// Time on the device's clock since it passed `earlier`, a mark of the same device. Waits.
  [[nodiscard]] virtual Seconds since(const Mark& earlier) const = 0;
};

/// Moves bytes between host and device beside what the device computes. Used by one thread, which
/// need not be the device's.
class Courier {
 public:
  virtual ~Courier() = default;
  /// Returns when all has arrived. Either side may be host memory.
  virtual void carry(const std::byte* from, std::byte* to, std::size_t bytes) = 0;
};

/// What a piece of work took.
struct Timed {
  /// On the device. Where it runs beside the host, the time the host takes to give the work is not
  /// in it, as far as the device can be kept waiting until all is given.
  Seconds device;
  /// On the host, to give the work to a device that runs beside it; zero where the host does it.
  Seconds host;
};

/// Work that a device was given once and does again as a whole.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Gives it to the device once more.
  virtual void play() = 0;
};

/// The memory of a device that does not compute in the host's.
struct OwnMemory {
  Bytes total;
  Bytes free;
  Bytes last_level_cache;
};

/// An open device. Not thread-safe: one thread issues work, which is done in the order in which it
/// was given, now or later: only synchronize() and Mark::wait() say that it is done.
///
/// Devices with memory of their own: tensors lie there, except that copy() takes plain tensors in
/// host memory on either side. The host must not touch what lies on the device.
class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Library name → version, for the environment of a result.
  [[nodiscard]] virtual std::map<std::string, std::string> libraries() const = 0;
  /// Nothing if it computes in host memory.
  [[nodiscard]] virtual std::optional<OwnMemory> own_memory() const = 0;
  /// PCI address, "00000000:3B:00.0", by which its monitor finds it (backend/power); empty if it
  /// has none, as one that computes in host memory.
  [[nodiscard]] virtual std::string bus_id() const { return {}; }

  /// Zeroed memory to compute in. Throws ConfigError saying how much is free if a device of its own
  /// has too little, std::bad_alloc on the host.
  [[nodiscard]] virtual Buffer allocate(std::size_t bytes) = 0;
  /// Zeroed host memory from which the device copies fastest (pinned, where that matters).
  [[nodiscard]] virtual Buffer allocate_on_host(std::size_t bytes) = 0;
  /// Dense row-major NCHW (or OIHW), the layout in which data enters and parameters are compared.
  [[nodiscard]] virtual TensorDesc plain(std::array<std::int64_t, 4> dims, DType dtype) const = 0;
  /// Activations in that order. Throws Unsupported, naming the order that it has, where the device
  /// keeps none so.
  [[nodiscard]] virtual TensorDesc arranged(std::array<std::int64_t, 4> dims, DType dtype,
                                            LayoutKind kind) const;
  /// Throws Unsupported with the library's reason.
  [[nodiscard]] virtual std::unique_ptr<Operation> create(const OperationSpec& spec) = 0;

  /// All ways the device knows to run one pass, to compare them with what create() chooses; nothing
  /// where it has no choice. The device must outlive the list.
  [[nodiscard]] virtual std::vector<Algorithm> algorithms(const OperationSpec& /*spec*/,
                                                          Pass /*pass*/) {
    return {};
  }

  /// Throws Unsupported with the reason; always where the device offers no product apart from
  /// layers.
  [[nodiscard]] virtual std::unique_ptr<MatrixProduct> matrix_product(const GemmShape& shape,
                                                                      DType dtype);

  /// Pictures of N × H × W × 3 bytes in memory of the device to the N × 3 × H × W tensor that a
  /// network reads: (value / 255 - mean) / deviation. Throws Unsupported where that is left to the
  /// loader: on devices that compute in host memory.
  virtual void normalise(const std::byte* pictures, const PictureStatistics& statistics,
                         const Tensor& to);

  /// Copies between layouts and precisions; dims must agree. Host memory that is read may change
  /// again when the call returns, unless it is allocate_on_host()'s: then after the copy is done.
  virtual void copy(const Tensor& from, const Tensor& to) = 0;
  /// into += value; same desc.
  virtual void accumulate(const Tensor& value, const Tensor& into) = 0;
  /// Updates n master weights in f32. If `low` is not null it receives the weights as bf16.
  virtual void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
                      float* momentum, std::uint16_t* low) = 0;
  /// Sets memory of the device to zero.
  virtual void clear(std::byte* data, std::size_t bytes) = 0;
  /// Rewrites memory of the device with what it holds, so that the caches have it as one that has
  /// just written it leaves them.
  virtual void touch(std::byte* data, std::size_t bytes) = 0;

  /// Copies from host memory, best of allocate_on_host(), to the device beside what it computes.
  /// The host's must stay as it is until join_copies() and what was given after it are done.
  virtual void copy_ahead(const std::byte* from, std::byte* to, std::size_t bytes) = 0;
  /// What is given from here on begins after all copies ahead.
  virtual void join_copies() = 0;
  /// Notes what `work` gives the device, which must be the same every time (a device may call it
  /// once now, or at every play()), without doing it now; neither waits nor allocates. Throws
  /// Unsupported where the device cannot.
  [[nodiscard]] virtual std::unique_ptr<Recording> record(std::function<void()> work) = 0;

  virtual void synchronize() = 0;
  [[nodiscard]] virtual std::unique_ptr<Mark> mark() = 0;
  /// Times what `work` gives the device, and waits for it.
  [[nodiscard]] virtual Timed time(const std::function<void()>& work) = 0;
  [[nodiscard]] virtual std::unique_ptr<Courier> courier() = 0;
};

class DeviceProbes;  // backend/compute/device_probes.hpp

struct ComputeBackend {
  std::string_view name;
  std::string_view doc;
  std::unique_ptr<ComputeDevice> (*open)(const ComputeOptions&);
  /// Opens what measures the memory, the copies and the launches of the device that open() opens,
  /// and throws what it throws. Null where the backend computes in the memory of the host.
  std::unique_ptr<DeviceProbes> (*open_probes)(const ComputeOptions&) = nullptr;
  /// Whether its devices have memory of their own, known without one.
  [[nodiscard]] bool has_own_memory() const { return open_probes != nullptr; }
};

}  // namespace dlscale::backend

namespace dlscale {
template <>
Family<backend::ComputeBackend> family<backend::ComputeBackend>();
}  // namespace dlscale
