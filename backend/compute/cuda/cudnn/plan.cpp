#include "backend/compute/cuda/cudnn/plan.hpp"

#include <fmt/format.h>

#include <charconv>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "backend/compute/cuda/runtime/call.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

Descriptor make_plan(const Graph& graph, const Descriptor& configuration,
                     const std::string& serialized) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, graph.descriptor().what());
  if (serialized.empty()) plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  const Target& target = graph.target();
  if (target.handle != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target.handle);
  if (target.description != nullptr) {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.description);
  }
  if (!serialized.empty()) {
    plan.set_list<char>(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, serialized);
  }
  plan.finalize();
  return plan;
}

std::string library_name() {
  const std::size_t version = cudnnGetVersion();
  return fmt::format("cudnn {}.{}", version / 10000, version % 10000 / 100);
}

std::string plan_name(const EngineNotes& notes, const std::string& knobs, std::size_t workspace) {
  // The notes follow the engine's number; the knobs go between the two.
  const std::string engine = to_string(notes);
  const std::size_t space = engine.find(' ');
  return fmt::format("{} {}{}{}{} ws={:.1f}MB", library_name(), engine.substr(0, space),
                     knobs.empty() ? "" : " ", knobs, engine.substr(space),
                     static_cast<double>(workspace) * 1e-6);
}

std::optional<std::int64_t> number_after(std::string_view prefix, std::string_view word) {
  if (!word.starts_with(prefix)) return std::nullopt;
  word.remove_prefix(prefix.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

Descriptor knob_choice(const Graph& graph, cudnnBackendKnobType_t type, std::int64_t value) {
  Descriptor choice(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, graph.descriptor().what());
  choice.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, type);
  choice.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value);
  choice.finalize();
  return choice;
}

}  // namespace

Plan::Plan(std::shared_ptr<const Graph> graph, std::shared_ptr<const Descriptor> configuration,
           const std::string& serialized)
    : graph_(std::move(graph)),
      configuration_(std::move(configuration)),
      plan_(make_plan(*graph_, *configuration_, serialized)),
      notes_(notes_of(engine_of(*configuration_))),
      workspace_bytes_(static_cast<std::size_t>(
          plan_.get<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE))),
      name_(plan_name(notes_, knobs_of(*configuration_), workspace_bytes_)) {}

std::string Plan::serialized() const {
  try {
    return plan_.text(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
  } catch (const Error&) {  // an engine that compiles nothing
    return "";
  }
}

void PlanRunner::run(const std::vector<Binding>& bindings, std::byte* workspace) {
  auto* const handle = plan_->graph().target().handle;
  EXPECT(handle != nullptr);
  if (pack_ == nullptr || bindings != bindings_ || workspace != workspace_) {
    bind(bindings, workspace);
  }
  const Descriptor& plan = plan_->descriptor();
  check(cudnnBackendExecute(handle, plan.get(), pack_->get()), "cudnnBackendExecute", *plan.what());
}

void PlanRunner::bind(const std::vector<Binding>& bindings, std::byte* workspace) {
  std::vector<std::int64_t> ids;
  std::vector<void*> pointers;
  for (const Binding& binding : bindings) {
    ids.push_back(static_cast<std::int64_t>(binding.id));
    pointers.push_back(binding.data);
  }
  auto pack = std::make_unique<Descriptor>(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
                                           plan_->descriptor().what());
  pack->set_list<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack->set_list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers);
  pack->set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, static_cast<void*>(workspace));
  pack->finalize();
  pack_ = std::move(pack);
  bindings_ = bindings;
  workspace_ = workspace;
}

std::shared_ptr<const Plan> restored_plan(const std::shared_ptr<const Graph>& graph,
                                          const std::shared_ptr<const Descriptor>& configuration,
                                          const std::string& serialized) {
  try {
    return std::make_shared<const Plan>(graph, configuration, serialized);
  } catch (const Error&) {
    if (serialized.empty()) throw;
    return std::make_shared<const Plan>(graph, configuration);
  }
}

std::string setting_name(const Descriptor& configuration, const GraphForm& form) {
  return fmt::format("eng{} {}{}", notes_of(engine_of(configuration)).index,
                     knobs_of(configuration), words_of(form));
}

std::optional<Descriptor> configuration_named(const Graph& graph, const std::string& name) {
  std::istringstream words(name);
  std::string word;
  words >> word;
  const auto index = number_after("eng", word);
  const auto found = index ? engine(graph, *index) : std::nullopt;
  if (!found) return std::nullopt;
  std::vector<Descriptor> choices;
  while (words >> word) {
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos) break;  // the words of the form begin
    const auto type = number_after("k", word.substr(0, sign));
    const auto value = number_after("=", word.substr(sign));
    // A knob type unknown to this cuDNN may not even be a value of the enumeration.
    if (!type || *type < 0 || *type >= CUDNN_KNOB_TYPE_COUNTS || !value) return std::nullopt;
    choices.push_back(knob_choice(graph, static_cast<cudnnBackendKnobType_t>(*type), *value));
  }
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& each : choices) raw.push_back(each.get());
  Descriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, graph.descriptor().what());
  configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, *found);
  if (!raw.empty()) configuration.set_descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, raw);
  if (configuration.try_finalize() != CUDNN_STATUS_SUCCESS) return std::nullopt;
  if (setting_name(configuration, graph.form()) != name) return std::nullopt;
  return configuration;
}

std::optional<Descriptor> default_configuration(const Graph& graph, const Descriptor& engine) {
  Descriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, graph.descriptor().what());
  configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (configuration.try_finalize() != CUDNN_STATUS_SUCCESS) return std::nullopt;
  return configuration;
}

}  // namespace dlscale::backend::cuda
