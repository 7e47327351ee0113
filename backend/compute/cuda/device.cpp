#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "backend/compute/cuda/algorithms.hpp"
#include "backend/compute/cuda/copier.hpp"
#include "backend/compute/cuda/cudnn/tuning.hpp"
#include "backend/compute/cuda/gemm/matrix_product.hpp"
#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/relayout.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/failure.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "backend/compute/cuda/runtime/open.hpp"
#include "backend/compute/cuda/runtime/operations.hpp"
#include "backend/compute/cuda/runtime/recording.hpp"
#include "backend/compute/cuda/transforms/library_fourier.hpp"
#include "backend/compute/plan_cache.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::backend::cuda {

namespace {

/// Makes the operation of each kind of layer.
struct Maker {
  const Context& context;
  const OperationSpec& spec;
  using Made = std::unique_ptr<Operation>;

  Made operator()(const Convolution& kind) const { return make_convolution(context, spec, kind); }
  Made operator()(const Pooling& kind) const { return make_pooling(context, spec, kind); }
  Made operator()(const Relu& /*kind*/) const { return make_relu(context, spec); }
  Made operator()(const Lrn& kind) const { return make_lrn(context, spec, kind); }
  Made operator()(const BatchNorm& kind) const { return make_batch_norm(context, spec, kind); }
  Made operator()(const FullyConnected& kind) const {
    return make_fully_connected(context, spec, kind);
  }
  Made operator()(const Dropout& kind) const { return make_dropout(context, spec, kind); }
  Made operator()(const Concat& /*kind*/) const { return make_concat(context, spec); }
  Made operator()(const Sum& /*kind*/) const { return make_sum(context, spec); }
  Made operator()(const SoftmaxCrossEntropy& kind) const { return make_loss(context, spec, kind); }
  template <class Other>
  Made operator()(const Other& /*kind*/) const {
    refuse_kind(spec);
  }
  Made operator()(const Input& /*kind*/) const {
    throw Unsupported(describe(spec) + ": the input is data, not an operation");
  }
};

void free_on_device(std::byte* data) noexcept {
  static_cast<void>(cudaFree(data));
}

void free_on_host(std::byte* data) noexcept {
  static_cast<void>(cudaFreeHost(data));
}

std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// cuDNN and cuBLAS write 9.19.0 as 91900 and 13.1.0 as 130100.
std::string library_version(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string clock(int device, cudaDeviceAttr attribute) {
  int kilohertz = 0;
  check(cudaDeviceGetAttribute(&kilohertz, attribute, device), "cudaDeviceGetAttribute",
        fmt::format("GPU {}", device));
  return fmt::format("{} MHz", kilohertz / 1000);
}

class CudaDevice final : public ComputeDevice {
 public:
  CudaDevice(std::string_view name, const Situation& situation, Order order)
      : name_(name),
        situation_(situation),
        context_{.device = situation.place, .order = order, .choices = &choices_} {
    check(cudaGetDeviceProperties(&context_.properties, context_.device), "cudaGetDeviceProperties",
          fmt::format("GPU {}", context_.device));
    open_libraries();
    choices_ = Choices(PlanCache(plan_cache_folder(), conditions()));
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  ~CudaDevice() override { static_cast<void>(cudaSetDevice(context_.device)); }

  [[nodiscard]] std::string_view name() const override { return name_; }

  [[nodiscard]] std::map<std::string, std::string> libraries() const override {
    return {{"CUDA runtime", cuda_version(situation_.runtime_version)},
            {"CUDA driver", cuda_version(situation_.driver_version)},
            {"cuDNN", library_version(cudnnGetVersion())},
            {"cuBLASLt", library_version(cublasLtGetVersion())},
            {"cuFFT", transforms::fourier_library_version()},
            {"GPU", context_.properties.name},
            {"GPU memory", to_text(Bytes(static_cast<double>(context_.properties.totalGlobalMem)))},
            {"GPU compute capability", situation_.compute_capability},
            {"GPU multiprocessors", std::to_string(context_.properties.multiProcessorCount)},
            {"GPU highest clock", clock(context_.device, cudaDevAttrClockRate)},
            {"GPU memory clock", clock(context_.device, cudaDevAttrMemoryClockRate)}};
  }

  [[nodiscard]] std::optional<OwnMemory> own_memory() const override {
    const auto [free, total] = memory_left();
    return OwnMemory{.total = Bytes(static_cast<double>(total)),
                     .free = Bytes(static_cast<double>(free)),
                     .last_level_cache = Bytes(context_.properties.l2CacheSize)};
  }

  [[nodiscard]] std::string bus_id() const override {
    std::array<char, 32> text{};
    check(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), context_.device),
          "cudaDeviceGetPCIBusId", context_.properties.name);
    return text.data();
  }

  [[nodiscard]] Buffer allocate(std::size_t bytes) override {
    if (bytes == 0) return {};
    select_device(context_.device);
    void* data = nullptr;
    const cudaError_t code = cudaMalloc(&data, bytes);
    if (code == cudaErrorMemoryAllocation) {
      static_cast<void>(cudaGetLastError());
      const auto [free, total] = memory_left();
      throw ConfigError(out_of_memory(context_.properties.name, bytes, free, total));
    }
    check(code, "cudaMalloc", fmt::format("{} bytes", bytes));
    Buffer buffer(static_cast<std::byte*>(data), FreeBuffer{free_on_device});
    clear(buffer.get(), bytes);
    synchronize();  // a copy stream, which is not ordered with ours, may write there first
    return buffer;
  }

  [[nodiscard]] Buffer allocate_on_host(std::size_t bytes) override {
    if (bytes == 0) return {};
    select_device(context_.device);
    void* data = nullptr;
    check_pinned(cudaMallocHost(&data, bytes), "cudaMallocHost", bytes);
    Buffer buffer(static_cast<std::byte*>(data), FreeBuffer{free_on_host});
    std::memset(buffer.get(), 0, bytes);
    return buffer;
  }

  [[nodiscard]] TensorDesc plain(Dims dims, DType dtype) const override {
    expect_offered(dtype);
    return tensor_desc(dims, dtype, Order::nchw);
  }

  [[nodiscard]] TensorDesc arranged(Dims dims, DType dtype, LayoutKind kind) const override {
    expect_offered(dtype);
    const bool nhwc = context_.order == Order::nhwc;
    if (kind == (nhwc ? LayoutKind::nhwc : LayoutKind::nchw)) {
      return tensor_desc(dims, dtype, context_.order);
    }
    if (kind == LayoutKind::blocked) {
      throw Unsupported(fmt::format(
          "{} has no blocked layouts. Measure nchw by cuda_nchw, or nhwc by cuda", name_));
    }
    throw Unsupported(fmt::format("{} keeps activations in {}. Measure {} by {}", name_,
                                  nhwc ? "nhwc" : "nchw", layout_kind_name(kind),
                                  nhwc ? "cuda_nchw" : "cuda"));
  }

  [[nodiscard]] std::unique_ptr<Operation> create(const OperationSpec& spec) override {
    expect_can_do(spec);
    return in_device_order(context_, spec, [&](const OperationSpec& inner) {
      return std::visit(Maker{context_, inner}, inner.layer.kind);
    });
  }

  [[nodiscard]] std::vector<Algorithm> algorithms(const OperationSpec& spec, Pass pass) override {
    expect_can_do(spec);
    std::vector<Algorithm> all = cuda::algorithms(context_, spec, pass);
    for (Algorithm& each : all) {
      each.create = [this, spec, create = std::move(each.create)] {
        select_device(context_.device);
        return in_device_order(context_, spec, [&](const OperationSpec&) { return create(); });
      };
    }
    return all;
  }

  [[nodiscard]] std::unique_ptr<MatrixProduct> matrix_product(const GemmShape& shape,
                                                              DType dtype) override {
    select_device(context_.device);
    expect_offered(dtype);
    return make_matrix_product(context_, shape, dtype);
  }

  void copy(const Tensor& from, const Tensor& to) override {
    select_device(context_.device);
    copier_.copy(from, to);
    lane_->note_use();
  }

  void normalise(const std::byte* pictures, const PictureStatistics& statistics,
                 const Tensor& to) override {
    select_device(context_.device);
    normalise_pictures(context_.stream, pictures, statistics, to);
    lane_->note_use();
  }

  void accumulate(const Tensor& value, const Tensor& into) override {
    select_device(context_.device);
    cuda::accumulate(context_.stream, value, into);
  }

  void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
              float* momentum, std::uint16_t* low) override {
    select_device(context_.device);
    cuda::update(context_.stream, step, n, weights, gradients, momentum, low, DType::bf16);
  }

  void clear(std::byte* data, std::size_t bytes) override {
    select_device(context_.device);
    check(cudaMemsetAsync(data, 0, bytes, context_.stream), "cudaMemsetAsync",
          [bytes] { return fmt::format("{} bytes", bytes); });
  }

  void touch(std::byte* data, std::size_t bytes) override {
    select_device(context_.device);
    cuda::touch(context_.stream, data, bytes);
  }

  void synchronize() override {
    select_device(context_.device);
    check(cudaStreamSynchronize(context_.stream), "cudaStreamSynchronize",
          "the work given to the device");
  }

  [[nodiscard]] std::unique_ptr<Mark> mark() override {
    select_device(context_.device);
    return make_mark(context_);
  }

  void copy_ahead(const std::byte* from, std::byte* to, std::size_t bytes) override {
    select_device(context_.device);
    lane_->copy_ahead(from, to, bytes);
  }

  void join_copies() override {
    select_device(context_.device);
    lane_->join();
  }

  [[nodiscard]] std::unique_ptr<Recording> record(std::function<void()> work) override {
    select_device(context_.device);
    return make_recording(context_, work);
  }

  /// Holds the device until the host has enqueued all work. It assumes the host's last time, as
  /// timed work is timed many times.
  [[nodiscard]] Timed time(const std::function<void()>& work) override {
    select_device(context_.device);
    hold(context_.stream, head_start_);
    cuda::record(before_, context_.stream);
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> given = std::chrono::steady_clock::now() - start;
    cuda::record(after_, context_.stream);
    const Seconds time = elapsed(before_, after_);
    head_start_ = head_start(Seconds(given.count()));
    return {.device = time, .host = Seconds(given.count())};
  }

  [[nodiscard]] std::unique_ptr<CopyStream> copy_stream() override {
    select_device(context_.device);
    return make_copy_stream(context_);
  }

 private:
  void open_libraries() {
    stream_ = make_stream();
    context_.stream = stream_.get();
    cudnnHandle_t dnn = nullptr;
    check(cudnnCreate(&dnn), "cudnnCreate", context_.properties.name);
    cudnn_.reset(dnn);
    context_.cudnn = dnn;
    check(cudnnSetStream(dnn, context_.stream), "cudnnSetStream", context_.properties.name);
    cublasLtHandle_t blas = nullptr;
    check(cublasLtCreate(&blas), "cublasLtCreate", context_.properties.name);
    blas_.reset(blas);
    context_.blas = blas;
    lane_.emplace(context_);
    before_ = make_event();
    after_ = make_event();
  }

  /// Conditions under which a choice by trial is valid.
  [[nodiscard]] std::map<std::string, std::string> conditions() const {
    std::map<std::string, std::string> all = CudaDevice::libraries();
    all.merge(conditions_of_program());
    return all;
  }

  void expect_can_do(const OperationSpec& spec) const {
    select_device(context_.device);
    expect_offered(spec.dtype);
    check_specification(spec);
  }

  void expect_offered(DType dtype) const {
    constexpr int ampere = 8;  // the first with tensor cores for these
    const bool needs_ampere = dtype == DType::bf16 || dtype == DType::tf32;
    if (!needs_ampere || context_.properties.major >= ampere) return;
    throw Unsupported(
        fmt::format("{} (compute capability {}) has no {}: that needs 8.0. Choose f32 or f16.",
                    context_.properties.name, situation_.compute_capability, dtype_name(dtype)));
  }

  struct MemoryLeft {
    std::size_t free;
    std::size_t total;
  };
  [[nodiscard]] MemoryLeft memory_left() const {
    select_device(context_.device);
    MemoryLeft left{};
    check(cudaMemGetInfo(&left.free, &left.total), "cudaMemGetInfo", context_.properties.name);
    return left;
  }

  std::string_view name_;
  Situation situation_;
  Context context_;
  Stream stream_;
  CudnnHandle cudnn_;
  BlasHandle blas_;
  Choices choices_;
  std::optional<CopyLane> lane_;
  Event before_;
  Event after_;
  Copier copier_{context_};
  Seconds head_start_ = 200.0_us;
};

/// Facts that are known before a device is opened.
Situation probe_situation(int place) {
  Situation situation{.place = place};
  static_cast<void>(cudaDriverGetVersion(&situation.driver_version));
  static_cast<void>(cudaRuntimeGetVersion(&situation.runtime_version));
  const cudaError_t code = cudaGetDeviceCount(&situation.devices);
  if (code != cudaSuccess) refuse_device(code, situation);
  expect_device_for(situation);
  return situation;
}

/// Adds the facts about the GPU.
void describe_gpu(Situation& situation) {
  cudaDeviceProp properties{};
  const cudaError_t code = cudaGetDeviceProperties(&properties, situation.place);
  if (code != cudaSuccess) refuse_device(code, situation);
  situation.gpu = properties.name;
  situation.compute_capability = fmt::format("{}.{}", properties.major, properties.minor);
}

/// An empty kernel of ours shows whether this build has kernels for the GPU.
void expect_kernels(const Situation& situation) {
  try {
    const Stream stream = make_stream();
    hold(stream.get(), Seconds());
    check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize", situation.gpu);
  } catch (const Unsupported&) {
    refuse_device(cudaErrorNoKernelImageForDevice, situation);
  }
}

std::unique_ptr<ComputeDevice> open(std::string_view name, const ComputeOptions& options,
                                    Order order) {
  Situation situation = probe_situation(options.place);
  describe_gpu(situation);
  const cudaError_t code = cudaSetDevice(situation.place);
  if (code != cudaSuccess) refuse_device(code, situation);
  expect_kernels(situation);
  return std::make_unique<CudaDevice>(name, situation, order);
}

}  // namespace

}  // namespace dlscale::backend::cuda

namespace dlscale::backend {

std::unique_ptr<ComputeDevice> open_cuda(const ComputeOptions& options) {
  return cuda::open("cuda", options, cuda::Order::nhwc);
}

std::unique_ptr<ComputeDevice> open_cuda_nchw(const ComputeOptions& options) {
  return cuda::open("cuda_nchw", options, cuda::Order::nchw);
}

}  // namespace dlscale::backend
