#include <fmt/format.h>
#include <omp.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <unordered_map>

#include "backend/compute/compute.hpp"
#include "backend/compute/host_device.hpp"
#include "backend/compute/onednn/assembly.hpp"
#include "backend/compute/onednn/elementwise.hpp"
#include "backend/compute/onednn/layout.hpp"
#include "backend/compute/onednn/pass_plan.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"
#include "core/system/openmp_settings.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::backend {

namespace onednn_device {

namespace {

/// `rows` × `columns` of an operand as it is multiplied; a batch adds a first dimension.
Desc matrix_desc(const GemmShape& shape, std::int64_t rows, std::int64_t columns, bool transposed,
                 DataType type) {
  MemoryDims dims{rows, columns};
  MemoryDims strides = transposed ? MemoryDims{1, rows} : MemoryDims{columns, 1};
  if (shape.batch > 1) {
    dims.insert(dims.begin(), shape.batch);
    strides.insert(strides.begin(), rows * columns);
  }
  return {dims, type, strides};
}

class PrimitiveProduct final : public MatrixProduct {
 public:
  PrimitiveProduct(const Context& context, const GemmShape& shape, DType dtype)
      : threads_(context.threads), what_(kernel_key(shape)), plan_(context) {
    const DataType type = data_type(dtype);
    const Desc a = matrix_desc(shape, shape.m, shape.k, shape.transpose_a, type);
    const Desc b = matrix_desc(shape, shape.k, shape.n, shape.transpose_b, type);
    const Desc c = matrix_desc(shape, shape.m, shape.n, false, type);
    plan_.add(matmul(context.engine, a, b, c), {reads(DNNL_ARG_SRC, {{Role::input, 0}, a}),
                                                reads(DNNL_ARG_WEIGHTS, {{Role::input, 1}, b}),
                                                writes(DNNL_ARG_DST, {{Role::output}, c})});
  }

  [[nodiscard]] std::size_t scratch_bytes() const override { return plan_.scratch_bytes(); }
  [[nodiscard]] std::string implementation() const override { return plan_.implementation(); }

  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) override {
    const ThreadScope scope(threads_);
    // Inputs are only read, but a Tensor is writable.
    const std::array inputs{Tensor{{}, const_cast<std::byte*>(a)},
                            Tensor{{}, const_cast<std::byte*>(b)}};
    Operands operands;
    operands.inputs = inputs;
    operands.output = {{}, c};
    operands.scratch = scratch;
    try {
      plan_.run(operands);
    } catch (const dnnl::error& error) {
      throw LibraryError(fmt::format("{}: oneDNN: {} (status {})", what_, error.what(),
                                     static_cast<int>(error.status)));
    }
  }

 private:
  int threads_;
  std::string what_;
  PassPlan plan_;
};

/// The library's primitive matmul on the matrices in place: a transposed operand has other strides.
/// `context` outlives the product. Throws Unsupported, dnnl::error.
std::unique_ptr<MatrixProduct> make_matrix_product(const Context& context, const GemmShape& shape,
                                                   DType dtype) {
  return std::make_unique<PrimitiveProduct>(context, shape, dtype);
}

/// Fills in the parts of each kind of layer.
struct Assembler {
  Assembly& assembly;

  void operator()(const Convolution& kind) const { assemble_convolution(assembly, kind); }
  void operator()(const Pooling& kind) const { assemble_pooling(assembly, kind); }
  void operator()(const Relu& /*kind*/) const { assemble_relu(assembly); }
  void operator()(const Lrn& kind) const { assemble_lrn(assembly, kind); }
  void operator()(const BatchNorm& kind) const { assemble_batch_norm(assembly, kind); }
  void operator()(const FullyConnected& kind) const { assemble_fully_connected(assembly, kind); }
  void operator()(const Dropout& kind) const { assemble_dropout(assembly, kind); }
  void operator()(const Concat& /*kind*/) const { assemble_concat(assembly); }
  void operator()(const Sum& /*kind*/) const { assemble_sum(assembly); }
  void operator()(const SoftmaxCrossEntropy& kind) const { assemble_loss(assembly, kind); }
  template <class Other>
  void operator()(const Other& /*kind*/) const {
    refuse_kind(assembly.spec());
  }
  void operator()(const Input& /*kind*/) const {
    throw Unsupported(describe(assembly.spec()) + ": the input is data, not an operation");
  }
};

/// Copies between two layouts, made once per pair.
class Copier {
 public:
  explicit Copier(const Context& context) : context_(&context) {}

  void copy(const Tensor& from, const Tensor& to) {
    Copy& copy = find_or_make(from.desc, to.desc);
    if (copy.scratch == nullptr) copy.scratch = allocate_host(copy.plan.scratch_bytes());
    Operands operands;
    operands.inputs = {&from, 1};
    operands.output = to;
    operands.scratch = copy.scratch.get();
    copy.plan.run(operands);
  }

 private:
  struct Copy {
    PassPlan plan;
    Buffer scratch;
  };

  Copy& find_or_make(const TensorDesc& from, const TensorDesc& to) {
    const std::string key = key_of(from) + " to " + key_of(to);
    const auto known = copies_.find(key);
    if (known != copies_.end()) return known->second;
    PassPlan plan(*context_);
    const auto [source, target] = in_common_dims(desc_of(from), desc_of(to));
    plan.add_reorder({{Role::input}, source}, {{Role::output}, target});
    return copies_.emplace(key, Copy{std::move(plan), nullptr}).first->second;
  }

  static std::string key_of(const TensorDesc& desc) {
    return fmt::format("{} {}x{}x{}x{} {} {}", dtype_name(desc.dtype), desc.dims[0], desc.dims[1],
                       desc.dims[2], desc.dims[3], desc.layout.name, desc.layout.bytes);
  }

  /// Gives the plain one of the two the dimensions of the other (2 for a fully connected layer, 5
  /// for grouped weights).
  static std::pair<Desc, Desc> in_common_dims(const Desc& from, const Desc& to) {
    if (dims_of(from) == dims_of(to)) return {from, to};
    if (same_memory(from, plain(dims_of(from), type_of(from)))) {
      return {plain(dims_of(to), type_of(from)), to};
    }
    return {from, plain(dims_of(from), type_of(to))};
  }

  const Context* context_;
  std::unordered_map<std::string, Copy> copies_;
};

class OneDnnDevice final : public HostDevice {
 public:
  explicit OneDnnDevice(const ComputeOptions& options)
      : context_(make_context(options)), copier_(context_) {}

  [[nodiscard]] std::string_view name() const override { return "onednn"; }

  [[nodiscard]] std::map<std::string, std::string> libraries() const override {
    return {{"oneDNN", library_version()},
            {"oneDNN_cpu_isa", instruction_set()},
            {"OpenMP threads", std::to_string(context_.threads)}};
  }

  [[nodiscard]] TensorDesc plain(Dims dims, DType dtype) const override {
    return tensor_desc(dims, onednn_device::plain(library_dims(dims), data_type(dtype)));
  }

  [[nodiscard]] TensorDesc arranged(Dims dims, DType dtype, LayoutKind kind) const override {
    return tensor_desc(dims, onednn_device::arranged(library_dims(dims), data_type(dtype), kind));
  }

  [[nodiscard]] std::unique_ptr<Operation> create(const OperationSpec& spec) override {
    check_specification(spec);
    return make(spec,
                [&](Assembly& assembly) { std::visit(Assembler{assembly}, spec.layer.kind); });
  }

  [[nodiscard]] std::vector<Algorithm> algorithms(const OperationSpec& spec, Pass pass) override {
    const auto* kind = std::get_if<Convolution>(&spec.layer.kind);
    if (kind == nullptr || pass == Pass::accumulate) return {};
    const auto by = [&](ConvolutionMethod method) {
      ConvolutionMethods methods = all_direct;
      methods[static_cast<std::size_t>(pass)] = method;
      return [this, spec, kind = *kind, methods] {
        return make(spec,
                    [&](Assembly& assembly) { assemble_convolution(assembly, kind, methods); });
      };
    };
    return {{"direct", by(direct)}, {"winograd", by(winograd)}};
  }

  [[nodiscard]] std::unique_ptr<MatrixProduct> matrix_product(const GemmShape& shape,
                                                              DType dtype) override {
    const ThreadScope scope(context_.threads);
    try {
      return make_matrix_product(context_, shape, dtype);
    } catch (const dnnl::error& error) {
      throw_error(error, fmt::format("{} in {}", kernel_key(shape), dtype_name(dtype)));
    }
  }

  void copy(const Tensor& from, const Tensor& to) override {
    EXPECT(from.desc.dims == to.desc.dims);
    const ThreadScope scope(context_.threads);
    try {
      copier_.copy(from, to);
    } catch (const dnnl::error& error) {
      throw_error(
          error, fmt::format("the copy from {} to {}", from.desc.layout.name, to.desc.layout.name));
    }
  }

  /// Padding is zero and stays zero, so this adds the whole memory.
  void accumulate(const Tensor& value, const Tensor& into) override {
    EXPECT(value.desc.dims == into.desc.dims && value.desc.layout == into.desc.layout);
    EXPECT(value.desc.dtype == into.desc.dtype);
    const ThreadScope scope(context_.threads);
    const std::size_t elements = into.desc.layout.bytes / element_bytes(into.desc.dtype);
    if (into.desc.dtype == DType::f32) {
      add(elements, value.as<float>(), into.as<float>());
    } else {
      add_bfloat16(elements, value.as<std::uint16_t>(), into.as<std::uint16_t>());
    }
  }

  void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
              float* momentum, std::uint16_t* low) override {
    const ThreadScope scope(context_.threads);
    onednn_device::update(step, n, weights, gradients, momentum, low);
  }

  void synchronize() override { context_.stream.wait(); }

 private:
  static Context make_context(const ComputeOptions& options) {
    EXPECT(options.threads >= 1);
    if (threading_runtime() != "OMP") {
      throw Unsupported(
          fmt::format("This oneDNN was built for {} threads, and dlscale sets the "
                      "number of OpenMP threads. Install an OpenMP build of oneDNN.",
                      threading_runtime()));
    }
    check_openmp_settings(std::getenv);
    if (const int most = omp_get_thread_limit(); most < options.threads) {
      throw ConfigError(fmt::format(
          "OMP_THREAD_LIMIT or its like lets OpenMP start {}, and {} are asked for. Unset it, or "
          "ask for fewer.",
          counted(most, "thread"), options.threads));
    }
    const ThreadScope scope(options.threads);
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    return {engine, dnnl::stream(engine), options.threads};
  }

  template <class Assemble>
  [[nodiscard]] std::unique_ptr<Operation> make(const OperationSpec& spec,
                                                const Assemble& assemble) const {
    const ThreadScope scope(context_.threads);
    try {
      Assembly assembly(context_, spec);
      assemble(assembly);
      return std::move(assembly).finish();
    } catch (const dnnl::error& error) {
      throw_error(error, describe(spec));
    }
  }

  [[noreturn]] static void throw_error(const dnnl::error& error, const std::string& what) {
    if (error.status == dnnl_unimplemented) {
      // The library's own message only says that it could not make a primitive, whatever the
      // reason.
      throw Unsupported(fmt::format("oneDNN {} on {} does not offer {}", library_version(),
                                    instruction_set(), what));
    }
    throw LibraryError(fmt::format("oneDNN {}: {}: {} (status {})", library_version(), what,
                                   error.what(), static_cast<int>(error.status)));
  }

  Context context_;
  Copier copier_;
};

std::unique_ptr<ComputeDevice> open(const ComputeOptions& options) {
  return std::make_unique<OneDnnDevice>(options);
}

}  // namespace

}  // namespace onednn_device

extern const ComputeBackend onednn;
const ComputeBackend onednn{
    .name = "onednn", .doc = "oneDNN on the processor, f32 and bf16", .open = onednn_device::open};

}  // namespace dlscale::backend
