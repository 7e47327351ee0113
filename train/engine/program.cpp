#include "train/engine/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/error.hpp"
#include "train/data/random.hpp"
#include "train/engine/program_plan.hpp"
#include "train/engine/replay.hpp"

namespace dlscale::train {
namespace {

using backend::Operands;
using backend::Tensor;

/// A layer's operation with its memory.
struct Node {
  std::vector<Tensor> inputs;
  std::vector<Tensor> input_gradients;
  std::vector<Tensor> values;
  std::vector<Tensor> gradients;
  Operands forward;
  Operands backward;
  std::array<std::size_t, 4> step{};  ///< place of each backward pass in the order of steps
};

struct Loss {
  LayerId layer;
  double weight;
};

std::vector<Loss> find_losses(const Network& network) {
  std::vector<Loss> losses;
  for (const Layer& layer : network.layers()) {
    if (const auto* loss = std::get_if<SoftmaxCrossEntropy>(&layer.kind)) {
      losses.push_back({layer.id, loss->loss_weight});
    }
  }
  return losses;
}

/// The smallest number of classes of any loss, which limits the labels.
std::int64_t count_classes(const Network& network) {
  std::int64_t classes = network.classes();
  for (const Loss& loss : find_losses(network)) {
    classes = std::min(classes, network.layer(loss.layer).input_shapes.front().elements());
  }
  return classes;
}

/// Checks a program's memory against a rank's share of the host's memory.
void check_host_memory(const Network& network, int batch, double need, Bytes available) {
  if (need <= available.si()) return;
  throw ConfigError(fmt::format(
      "training {} with {} images per rank needs {:.2f} GB per rank, but {:.2f} GB are free for "
      "each (the machine would swap or end the process). Choose a smaller batch or fewer ranks.",
      network.name(), batch, need / 1e9, available.si() / 1e9));
}

/// Checks a program's memory against the device's own, which no other rank shares.
void check_device_memory(const Network& network, int batch, std::string_view need_text, double need,
                         const backend::OwnMemory& memory) {
  if (need <= memory.free.si()) return;
  throw ConfigError(fmt::format(
      "training {} with {} images per rank needs {}{:.2f} GB on the device, but {:.2f} of its "
      "{:.2f} GB are free (it computes in no other memory). Choose a smaller batch, or end other "
      "programs that use the device.",
      network.name(), batch, need_text, need / 1e9, memory.free.si() / 1e9,
      memory.total.si() / 1e9));
}

void check_memory(const ProgramPlan& plan, const Network& network, int batch,
                  const backend::ComputeDevice& device, std::optional<Bytes> available) {
  const auto need = static_cast<double>(plan.bytes());
  if (const auto own = device.own_memory()) {
    check_device_memory(network, batch, "", need, *own);
  } else if (available) {
    check_host_memory(network, batch, need, *available);
  }
}

/// Lower bound in bytes for a program: its parameters with the state of their updates, and its
/// outputs, from shapes alone. Any plan needs more, for padding, states, scratch and gradients of
/// outputs.
double least_bytes(const Network& network, int batch, DType dtype) {
  const auto element = static_cast<double>(element_bytes(dtype));
  const double low = element < sizeof(float) ? element : 0;
  double outputs = 0;
  for (const Layer& layer : network.layers()) {
    outputs += static_cast<double>(layer.output.elements());
  }
  return (3 * sizeof(float) + low) * static_cast<double>(network.parameter_count()) +
         batch * element * outputs;
}

/// Checks the type before plans are chosen, which takes minutes on a GPU. Throws Unsupported for
/// f16.
DType trainable(DType dtype) {
  if (dtype != DType::f16) return dtype;
  throw Unsupported(
      "training in f16 needs its loss scaled so that small gradients do not vanish, which dlscale "
      "does not do. Train in bf16.");
}

/// Makes a plan. A device with its own memory tries plans for minutes, so one that is far too small
/// is refused before.
ProgramPlan make_plan_that_fits(const Network& network, backend::ComputeDevice& device, int batch,
                                DType dtype) {
  if (const auto own = device.own_memory()) {
    check_device_memory(network, batch, "at least ", least_bytes(network, batch, dtype), *own);
  }
  return make_plan(network, device, batch, dtype);
}

}  // namespace

struct Program::Impl {
  Impl(const Network& the_network, backend::ComputeDevice& the_device, int the_batch, DType dtype,
       std::optional<Bytes> available);

  void allocate();
  void bind(const Layer& layer);
  void index_steps();
  [[nodiscard]] Tensor output(LayerId layer) const;
  [[nodiscard]] Tensor gradient(GradientFlow::BufferId buffer) const;
  void run_moves(std::size_t step);
  [[nodiscard]] double mean_loss(LayerId layer) const;
  void check_batch(const Images& images, std::span<const std::int32_t> given) const;
  [[nodiscard]] std::uint64_t seed_of(const Layer& layer, std::uint64_t iteration) const;
  void read_seeds_on_device();
  [[nodiscard]] std::span<std::int32_t> labels() const;
  void set_labels(std::span<const std::int32_t> given);

  Network network;
  backend::ComputeDevice* device;
  int batch;
  std::int64_t classes;
  std::vector<Loss> losses;
  ProgramPlan plan;
  std::optional<Parameters> parameters;
  backend::Buffer activations;
  backend::Buffer states;
  backend::Buffer gradients;
  backend::Buffer scratch;
  std::vector<Tensor> gradient_tensors;  ///< by buffer of the gradient flow
  std::vector<Node> nodes;               ///< by layer
  backend::Buffer label_memory;          ///< read by the device's asynchronous copies
  backend::Buffer staged;                ///< a batch in its transfer format; allocated at first use
  std::size_t staged_room = 0;
  Normalisation staged_form = Normalisation::host;
  std::vector<std::int32_t> staged_labels;
  std::uint64_t seed = 0;
  std::optional<DropoutSeeds> seeds;  ///< allocated at first use
};

Program::Impl::Impl(const Network& the_network, backend::ComputeDevice& the_device, int the_batch,
                    DType dtype, std::optional<Bytes> available)
    : network(the_network),
      device(&the_device),
      batch(the_batch),
      classes(count_classes(the_network)),
      losses(find_losses(the_network)),
      plan(make_plan_that_fits(the_network, the_device, the_batch, trainable(dtype))),
      nodes(the_network.layers().size()) {
  check_memory(plan, network, batch, *device, available);
  allocate();
  for (const Layer& layer : network.layers()) bind(layer);
  index_steps();
}

void Program::Impl::allocate() {
  label_memory = device->allocate_on_host(static_cast<std::size_t>(batch) * sizeof(std::int32_t));
  parameters.emplace(plan.parameters, *device);
  activations = device->allocate(plan.activations.bytes);
  states = device->allocate(std::max(plan.states.bytes, std::size_t{1}));
  gradients = device->allocate(std::max(plan.gradients.bytes, std::size_t{1}));
  scratch = device->allocate(std::max(plan.scratch, std::size_t{1}));
  for (std::size_t i = 0; i < plan.flow.like.size(); ++i) {
    gradient_tensors.push_back(
        {plan.outputs[plan.flow.like[i].index()], gradients.get() + plan.gradients.offsets[i]});
  }
}

/// Fills the operands of a layer. Their spans point into its node, whose address is stable.
void Program::Impl::bind(const Layer& layer) {
  const std::size_t i = layer.id.index();
  if (!plan.operations[i]) return;
  Node& node = nodes[i];
  for (const LayerId producer : layer.inputs) node.inputs.push_back(output(producer));
  for (const auto buffer : plan.flow.inputs[i]) node.input_gradients.push_back(gradient(buffer));
  for (const ParameterSlot& slot : plan.parameters.of(layer.id)) {
    node.values.push_back(parameters->value(slot));
    node.gradients.push_back(parameters->gradient(slot));
  }
  node.forward.inputs = node.inputs;
  node.forward.output = output(layer.id);
  node.forward.parameters = node.values;
  node.forward.state = states.get() + plan.states.offsets[i];
  node.forward.scratch = scratch.get();
  if (std::holds_alternative<SoftmaxCrossEntropy>(layer.kind)) node.forward.labels = labels();
  node.backward = node.forward;
  if (plan.flow.output[i]) node.backward.output_gradient = gradient(*plan.flow.output[i]);
  node.backward.input_gradients = node.input_gradients;
  node.backward.parameter_gradients = node.gradients;
}

void Program::Impl::index_steps() {
  for (std::size_t i = 0; i < plan.backward.size(); ++i) {
    const Step step = plan.backward[i];
    nodes[step.layer.index()].step[static_cast<std::size_t>(step.pass)] = i;
  }
}

Tensor Program::Impl::output(LayerId layer) const {
  return {plan.outputs[layer.index()], activations.get() + plan.activations.offsets[layer.index()]};
}

Tensor Program::Impl::gradient(GradientFlow::BufferId buffer) const {
  return gradient_tensors[buffer.index()];
}

void Program::Impl::run_moves(std::size_t step) {
  for (const GradientFlow::Move& move : plan.flow.moves[step]) {
    if (move.kind == GradientFlow::Move::Kind::copy) {
      device->copy(gradient(move.from), gradient(move.to));
    } else {
      device->accumulate(gradient(move.from), gradient(move.to));
    }
  }
}

double Program::Impl::mean_loss(LayerId layer) const {
  std::vector<float> of_images(static_cast<std::size_t>(batch));
  device->copy(output(layer), {device->plain({batch, 1, 1, 1}, DType::f32),
                               reinterpret_cast<std::byte*>(of_images.data())});
  device->synchronize();
  double sum = 0;
  for (const float loss : of_images) sum += static_cast<double>(loss);
  return sum / batch;
}

void Program::Impl::check_batch(const Images& images, std::span<const std::int32_t> given) const {
  EXPECT(elements_of(images) == static_cast<std::size_t>(output(LayerId(0)).desc.elements()));
  EXPECT(given.size() == labels().size());
  const auto wrong = std::ranges::find_if(
      given, [&](std::int32_t label) { return label < 0 || label >= classes; });
  if (wrong == given.end()) return;
  throw ConfigError(fmt::format(
      "label {} is none of the {} classes of network {}. Train on a data set with at most {} "
      "classes, or a network with more.",
      *wrong, classes, network.name(), classes));
}

/// Seed of a dropout layer from its name, which fusing ReLUs does not change.
std::uint64_t Program::Impl::seed_of(const Layer& layer, std::uint64_t iteration) const {
  std::uint64_t key = mix(seed, iteration);
  for (const char letter : layer.name) key = mix(key, static_cast<unsigned char>(letter));
  return key;
}

std::span<std::int32_t> Program::Impl::labels() const {
  return {reinterpret_cast<std::int32_t*>(label_memory.get()), static_cast<std::size_t>(batch)};
}

/// Waits until the device has read the previous labels. Training reads the loss of every iteration,
/// so there it does not wait.
void Program::Impl::set_labels(std::span<const std::int32_t> given) {
  device->synchronize();
  std::ranges::copy(given, labels().begin());
}

void Program::Impl::read_seeds_on_device() {
  seeds.emplace(network, *device);
  for (std::size_t i = 0; i < seeds->layers().size(); ++i) {
    Node& node = nodes[seeds->layers()[i].index()];
    node.forward.seed_memory = node.backward.seed_memory = seeds->memory(i);
  }
}

Program::Program(const Network& network, backend::ComputeDevice& device, int batch, DType dtype,
                 std::optional<Bytes> available)
    : impl_(std::make_unique<Impl>(network, device, batch, dtype, available)) {}
Program::~Program() = default;

const Network& Program::network() const {
  return impl_->network;
}
int Program::batch() const {
  return impl_->batch;
}
const std::vector<Step>& Program::forward_steps() const {
  return impl_->plan.forward;
}
const std::vector<Step>& Program::backward_steps() const {
  return impl_->plan.backward;
}
Bytes Program::memory() const {
  return Bytes(static_cast<double>(impl_->plan.bytes() + impl_->staged_room));
}

void Program::initialise(std::uint64_t seed) {
  impl_->seed = seed;
  impl_->parameters->initialise(seed);
}

void Program::set_input(const Images& images, std::span<const std::int32_t> labels) {
  if (std::holds_alternative<std::span<const std::uint8_t>>(images)) {
    stage_input(images, labels);
    return use_staged_input();
  }
  impl_->check_batch(images, labels);
  impl_->set_labels(labels);
  const Tensor input = impl_->output(LayerId(0));
  // A tensor is a view for reading and writing; copy() only reads its source.
  auto* data = const_cast<std::byte*>(bytes_of(images).data());
  impl_->device->copy({impl_->device->plain(input.desc.dims, DType::f32), data}, input);
}

void Program::stage_input(const Images& images, std::span<const std::int32_t> labels) {
  impl_->check_batch(images, labels);
  const std::span<const std::byte> bytes = bytes_of(images);
  if (impl_->staged_room < bytes.size()) {
    impl_->staged = impl_->device->allocate(bytes.size());
    impl_->staged_room = bytes.size();
  }
  impl_->device->copy_ahead(bytes.data(), impl_->staged.get(), bytes.size());
  const bool floats = std::holds_alternative<std::span<const float>>(images);
  impl_->staged_form = floats ? Normalisation::host : Normalisation::device;
  impl_->staged_labels.assign(labels.begin(), labels.end());
}

void Program::use_staged_input() {
  const Tensor input = impl_->output(LayerId(0));
  EXPECT(impl_->staged_labels.size() == impl_->labels().size());
  impl_->set_labels(impl_->staged_labels);
  impl_->device->join_copies();
  if (impl_->staged_form == Normalisation::device) {
    impl_->device->normalise(impl_->staged.get(), imagenet_statistics, input);
  } else {
    impl_->device->copy({impl_->device->plain(input.desc.dims, DType::f32), impl_->staged.get()},
                        input);
  }
}

void Program::run(Step step, std::uint64_t iteration) {
  Node& node = impl_->nodes[step.layer.index()];
  const bool forward = step.pass == Pass::forward;
  if (!forward) impl_->run_moves(node.step[static_cast<std::size_t>(step.pass)]);
  if (step.pass == Pass::accumulate) return;
  Operands& operands = forward ? node.forward : node.backward;
  const Layer& layer = impl_->network.layer(step.layer);
  if (std::holds_alternative<Dropout>(layer.kind)) {
    operands.seed = impl_->seed_of(layer, iteration);
  }
  impl_->plan.operations[step.layer.index()]->run(step.pass, operands);
}

void Program::send_seeds(std::uint64_t iteration) {
  if (!impl_->seeds) impl_->read_seeds_on_device();
  impl_->seeds->send(
      [&](LayerId layer) { return impl_->seed_of(impl_->network.layer(layer), iteration); });
}

void Program::synchronize() {
  impl_->device->synchronize();
}

backend::ComputeDevice& Program::device() const {
  return *impl_->device;
}

double Program::loss() const {
  double loss = 0;
  for (const auto& [layer, weight] : impl_->losses) loss += weight * impl_->mean_loss(layer);
  return loss;
}

std::span<float> Program::gradients(const Bucket& bucket) {
  return impl_->parameters->gradients(bucket.layers);
}

std::span<float> Program::all_gradients() {
  return impl_->parameters->gradients();
}

void Program::update(const backend::SgdStep& step) {
  impl_->parameters->update(step);
}

void Program::update(const backend::SgdStep& step, const Bucket& bucket) {
  impl_->parameters->update(step, bucket.layers);
}

std::span<float> Program::all_parameters() {
  return impl_->parameters->masters();
}

void Program::parameters_changed() {
  impl_->parameters->masters_changed();
}

std::span<float> Program::parameters(const Bucket& bucket) {
  return impl_->parameters->masters(bucket.layers);
}

void Program::parameters_changed(const Bucket& bucket) {
  impl_->parameters->masters_changed(bucket.layers);
}

std::string Program::parameter_layout() const {
  return impl_->plan.parameters.description();
}

std::vector<float> Program::plain_gradient(LayerId layer) const {
  std::vector<float> all;
  for (const ParameterSlot& slot : impl_->plan.parameters.of(layer)) {
    const auto part = impl_->parameters->to_plain(impl_->parameters->gradient(slot));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

std::vector<float> Program::plain_parameters(LayerId layer) const {
  std::vector<float> all;
  for (const ParameterSlot& slot : impl_->plan.parameters.of(layer)) {
    const auto part = impl_->parameters->to_plain(impl_->parameters->master(slot));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

void Program::set_plain_parameters(LayerId layer, std::span<const float> values) {
  for (const ParameterSlot& slot : impl_->plan.parameters.of(layer)) {
    const auto count = static_cast<std::size_t>(slot.parameter.gradient.elements());
    EXPECT(values.size() >= count);
    impl_->parameters->from_plain(values.first(count), impl_->parameters->master(slot));
    values = values.subspan(count);
  }
  EXPECT(values.empty());
  impl_->parameters->masters_changed();
}

backend::Operation& Program::operation(LayerId layer) {
  return *impl_->plan.operations[layer.index()];
}
const backend::Operation& Program::operation(LayerId layer) const {
  return *impl_->plan.operations[layer.index()];
}

const Operands& Program::operands(Step step) const {
  const Node& node = impl_->nodes[step.layer.index()];
  return step.pass == Pass::forward ? node.forward : node.backward;
}

backend::OperationSpec Program::spec(LayerId layer) const {
  return impl_->plan.specs[layer.index()];
}

}  // namespace dlscale::train
