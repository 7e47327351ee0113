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

/// Order of a tensor's elements in memory. `handle` belongs to the backend that made the layout.
/// Two layouts are equal if their names and bytes are.
struct Layout {
  std::string name;       ///< the library's name: "nchw", "nChw16c", …
  std::size_t bytes = 0;  ///< the whole tensor, with padding
  std::shared_ptr<const void> handle;
  bool operator==(const Layout& other) const { return name == other.name && bytes == other.bytes; }
};

/// Orders of activations that a caller can request, from the outermost dimension to the innermost.
/// blocked: as many adjacent channels as the device computes at once.
enum class LayoutKind { nchw, nhwc, blocked };

/// A logical N × C × H × W tensor. Weights are O × I/groups × R × S; vectors are N × 1 × 1 × 1.
struct TensorDesc {
  std::array<std::int64_t, 4> dims{};
  DType dtype = DType::f32;
  Layout layout;
  [[nodiscard]] std::int64_t elements() const { return dims[0] * dims[1] * dims[2] * dims[3]; }
};

/// View of a tensor; does not own its memory.
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
/// element, the same order in memory. The gradient is f32; the value has the operation's dtype for
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
  /// Requested layout of inputs and output (laid_out()); nothing: the device chooses the output's.
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
  std::uint64_t seed = 0;                       ///< dropout only: determines the mask
  /// Dropout only: device memory with the seed. It is read when the pass runs, not when it is
  /// enqueued, so that each replay of a Recording draws a new mask. Null: `seed` is used. Only
  /// devices that can record() need it.
  const std::uint64_t* seed_memory = nullptr;
  /// Memory of kept_bytes() at a multiple of 64, zeroed before the first run. The operation keeps
  /// in it what it derives from its weights from run to run. Null: it derives that anew every time.
  std::byte* kept = nullptr;
  /// Identifies the current weights; must change whenever they do. 0: they may have changed, and
  /// what is kept is derived anew. Training changes weights every iteration and leaves both members
  /// unset.
  std::uint64_t weights_version = 0;
};

/// One layer, prepared for one batch size and one set of layouts: created once, run many times. The
/// operation, and its time, includes the reorders that the layouts require.
///
/// Loss layers: output is N × 1 × 1 × 1, the unweighted -log p[label] of each image in f32.
/// backward_data needs no output_gradient and writes loss_weight / N · (p - onehot).
///
/// Batch norm: backward_data writes both input and parameter gradients; parameters are scale,
/// shift.
///
/// Concat and Sum: backward_data of Sum is never called (see core/network/step.hpp).
///
/// Layers with a ReLU (Layer::relu): output and output_gradient are those of the ReLU. Their first
/// backward pass (in the order of core/network/step.hpp) takes output_gradient as zero where output
/// is not positive, and may set it to zero there. backward_filter of a convolution always sets it,
/// once for both passes: backward_data must come after it and read the result. A sum with a ReLU
/// has backward_data, which writes one input gradient, with the desc of the first input, for all.
///
/// Pass::accumulate is not an operation: see ComputeDevice::accumulate.
class Operation {
 public:
  virtual ~Operation() = default;
  [[nodiscard]] virtual const TensorDesc& output() const = 0;
  [[nodiscard]] virtual const std::vector<Parameter>& parameters() const = 0;
  [[nodiscard]] virtual std::size_t state_bytes() const = 0;
  /// Largest scratch of all passes.
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// Scratch of one pass, which the operation must have (has()); the largest of all where the
  /// device does not distinguish them.
  [[nodiscard]] virtual std::size_t pass_scratch_bytes(Pass /*pass*/) const {
    return scratch_bytes();
  }
  /// Size of what the operation keeps of its weights, if Operands::weights_version allows it.
  [[nodiscard]] virtual std::size_t kept_bytes() const { return 0; }
  [[nodiscard]] virtual bool has(Pass pass) const = 0;
  /// Name of the implementation in the library's words, with its reorders:
  /// "reorder+jit:avx512_core".
  [[nodiscard]] virtual std::string implementation(Pass pass) const = 0;
  /// Whether the pass reorders its inputs, output or their gradients into copies, which its time
  /// and implementation() include.
  [[nodiscard]] virtual bool reorders_activations(Pass /*pass*/) const { return false; }
  /// Throws LibraryError. Returns when the work is done or enqueued; ComputeDevice::synchronize
  /// waits.
  virtual void run(Pass pass, const Operands& operands) = 0;
};

/// An algorithm by which a library can run one pass of an operation.
struct Algorithm {
  std::string name;
  /// Creates the operation with this algorithm for the pass. Throws Unsupported with the reason
  /// where the library does not offer it.
  std::function<std::unique_ptr<Operation>()> create;
};

/// A matrix product, prepared for one shape: created once, run many times.
class MatrixProduct {
 public:
  virtual ~MatrixProduct() = default;
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// Name of the implementation, in the library's words.
  [[nodiscard]] virtual std::string implementation() const = 0;
  /// C = op(A) · op(B) of three dense matrices in device memory, in the dtype that it was created
  /// for, with sums in f32. Throws LibraryError. Returns when done or enqueued.
  virtual void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) = 0;
};

/// Mean and standard deviation of red, green and blue over all images, on a scale of 0 to 1.
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
  int threads = 1;  ///< on a processor
  int place = 0;    ///< number of the device, where there are several
};

/// Frees memory with the function that matches its allocation.
struct FreeBuffer {
  void (*free)(std::byte*) noexcept = nullptr;
  void operator()(std::byte* p) const noexcept { free(p); }
};
/// Memory aligned for the widest vectors. Device memory must be freed before the device is closed.
using Buffer = std::unique_ptr<std::byte[], FreeBuffer>;

/// Zeroed host memory on a 64-byte boundary; null for 0 bytes. Throws std::bad_alloc.
Buffer allocate_host(std::size_t bytes);

/// A point in the order of the work of a device, like a CUDA event.
class Mark {
 public:
  virtual ~Mark() = default;
  /// Returns when all work enqueued before the mark is done. Any thread may wait.
  virtual void wait() const = 0;
  /// Time on the device's clock from `earlier`, a mark of the same device, to this one. Waits.
  [[nodiscard]] virtual Seconds since(const Mark& earlier) const = 0;
};

/// Copies bytes between host and device, concurrently with the device's work. One thread uses it,
/// which may differ from the device's.
class CopyStream {
 public:
  virtual ~CopyStream() = default;
  /// Returns when the copy is complete. Either side may be host memory.
  virtual void copy(const std::byte* from, std::byte* to, std::size_t bytes) = 0;
};

/// Time that some work took.
struct Timed {
  /// Time on the device. On an asynchronous device it excludes the host's time to enqueue the work,
  /// as far as the device can be held until all is enqueued.
  Seconds device;
  /// Time of the host to enqueue the work on an asynchronous device; zero where the host computes
  /// it.
  Seconds host;
};

/// Work that a device recorded once and replays as a whole, like a CUDA graph.
class Recording {
 public:
  virtual ~Recording() = default;
  /// Enqueues the recorded work once more.
  virtual void play() = 0;
};

/// Separate memory of a device that does not compute in host memory.
struct OwnMemory {
  Bytes total;
  Bytes free;
  Bytes last_level_cache;
};

/// An open device. Not thread-safe: one thread enqueues work, which the device does in order and
/// possibly asynchronously. Only synchronize() and Mark::wait() tell that it is done.
///
/// On devices with memory of their own all tensors are in it, except that copy() takes plain
/// tensors in host memory on either side. The host must not access device memory.
class ComputeDevice {
 public:
  virtual ~ComputeDevice() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Library name → version, recorded in the environment of a result.
  [[nodiscard]] virtual std::map<std::string, std::string> libraries() const = 0;
  /// Nothing if the device computes in host memory.
  [[nodiscard]] virtual std::optional<OwnMemory> own_memory() const = 0;
  /// PCI address, "00000000:3B:00.0", by which its monitor finds it (backend/power). Empty if it
  /// has none, for example on a device that computes in host memory.
  [[nodiscard]] virtual std::string bus_id() const { return {}; }

  /// Allocates zeroed memory to compute in. Throws ConfigError with the number of free bytes if the
  /// device's own memory is too small, std::bad_alloc on the host.
  [[nodiscard]] virtual Buffer allocate(std::size_t bytes) = 0;
  /// Allocates zeroed host memory from which the device copies fastest (pinned, where that
  /// matters).
  [[nodiscard]] virtual Buffer allocate_on_host(std::size_t bytes) = 0;
  /// Dense row-major NCHW (or OIHW), the layout of input data and of compared parameters.
  [[nodiscard]] virtual TensorDesc plain(std::array<std::int64_t, 4> dims, DType dtype) const = 0;
  /// Activations in the order `kind`. Throws Unsupported, naming the order that the device has, if
  /// it does not have this one.
  [[nodiscard]] virtual TensorDesc arranged(std::array<std::int64_t, 4> dims, DType dtype,
                                            LayoutKind kind) const;
  /// Throws Unsupported with the library's reason.
  [[nodiscard]] virtual std::unique_ptr<Operation> create(const OperationSpec& spec) = 0;

  /// All algorithms that the device knows for one pass, for comparison with the choice of create().
  /// Empty where it has no choice. The device must outlive the list.
  [[nodiscard]] virtual std::vector<Algorithm> algorithms(const OperationSpec& /*spec*/,
                                                          Pass /*pass*/) {
    return {};
  }

  /// Throws Unsupported with the reason; always where the device offers no product apart from
  /// layers.
  [[nodiscard]] virtual std::unique_ptr<MatrixProduct> matrix_product(const GemmShape& shape,
                                                                      DType dtype);

  /// Converts images to the tensor that a network reads: (value / 255 - mean) / deviation. The
  /// images are N × H × W × 3 bytes in device memory, the tensor is N × 3 × H × W. Throws
  /// Unsupported on devices that compute in host memory, where the loader does it.
  virtual void normalise(const std::byte* pictures, const PictureStatistics& statistics,
                         const Tensor& to);

  /// Copies between layouts and precisions; dims must agree. The caller may change host memory that
  /// is read once the call returns, or, if it is from allocate_on_host(), once the copy is done.
  virtual void copy(const Tensor& from, const Tensor& to) = 0;
  /// into += value; both have the same desc.
  virtual void accumulate(const Tensor& value, const Tensor& into) = 0;
  /// Updates n master weights in f32. If `low` is not null it receives the weights as bf16.
  virtual void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
                      float* momentum, std::uint16_t* low) = 0;
  /// Sets device memory to zero.
  virtual void clear(std::byte* data, std::size_t bytes) = 0;
  /// Rewrites device memory with its own content, so that the caches are as after a write.
  virtual void touch(std::byte* data, std::size_t bytes) = 0;

  /// Copies from host memory, preferably of allocate_on_host(), to the device concurrently with its
  /// work. The host memory must not change until join_copies() and the work enqueued after it are
  /// done.
  virtual void copy_ahead(const std::byte* from, std::byte* to, std::size_t bytes) = 0;
  /// Makes work enqueued from now on wait for all copies ahead.
  virtual void join_copies() = 0;
  /// Records what `work` enqueues without running it. It must be the same every time: a device may
  /// call it once now, or at every play(). `work` may neither wait nor allocate. Throws Unsupported
  /// where the device cannot record.
  [[nodiscard]] virtual std::unique_ptr<Recording> record(std::function<void()> work) = 0;

  virtual void synchronize() = 0;
  [[nodiscard]] virtual std::unique_ptr<Mark> mark() = 0;
  /// Times what `work` enqueues, and waits for it.
  [[nodiscard]] virtual Timed time(const std::function<void()>& work) = 0;
  [[nodiscard]] virtual std::unique_ptr<CopyStream> copy_stream() = 0;
};

class DeviceProbes;  // backend/compute/device_probes.hpp

struct ComputeBackend {
  std::string_view name;
  std::string_view doc;
  std::unique_ptr<ComputeDevice> (*open)(const ComputeOptions&);
  /// Opens the probes of the memory, copies and launches of the device that open() opens; throws
  /// the same errors. Null where the backend computes in host memory.
  std::unique_ptr<DeviceProbes> (*open_probes)(const ComputeOptions&) = nullptr;
  /// Whether its devices have memory of their own; known without opening one.
  [[nodiscard]] bool has_own_memory() const { return open_probes != nullptr; }
};

}  // namespace dlscale::backend

namespace dlscale {
template <>
Family<backend::ComputeBackend> family<backend::ComputeBackend>();
}  // namespace dlscale
