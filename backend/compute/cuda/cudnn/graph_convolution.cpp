#include "backend/compute/cuda/cudnn/graph_convolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/compute/cuda/cudnn/convolution_extras.hpp"
#include "backend/compute/cuda/cudnn/examination.hpp"
#include "backend/compute/cuda/cudnn/transform_algorithms.hpp"
#include "backend/compute/cuda/cudnn/tuning.hpp"
#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "backend/compute/cuda/runtime/noise.hpp"
#include "backend/compute/cuda/runtime/recording.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

class GraphPass final : public ConvolutionPass {
 public:
  GraphPass(const Context& context, const ConvolutionProblem& problem,
            std::shared_ptr<const Plan> plan)
      : form_(plan->graph().form()), extras_(context, problem, form_), runner_(std::move(plan)) {}

  [[nodiscard]] std::string name() const override { return runner_.plan().name() + extras_.name(); }

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return extras_.scratch_bytes() + runner_.plan().workspace_bytes();
  }

  void run(const ConvolutionMemory& memory, std::byte* scratch) override {
    std::byte* const weights =
        extras_.has_low_gradient() ? extras_.low_gradient(scratch) : memory.weights;
    std::vector<Binding> bindings{{TensorId::input, memory.input},
                                  {TensorId::weights, weights},
                                  {TensorId::output, memory.output}};
    const bool bias = form_.fusion != Fusion::none && memory.bias != nullptr;
    if (bias) bindings.push_back({TensorId::bias, memory.bias});
    runner_.run(bindings, scratch + extras_.scratch_bytes());
    extras_.run(memory, scratch);
  }

 private:
  GraphForm form_;
  ConvolutionExtras extras_;
  PlanRunner runner_;
};

/// Memory for one run of a pass, filled with noise.
class TrialMemory {
 public:
  TrialMemory(const Context& context, const ConvolutionProblem& problem, Pass pass,
              std::size_t scratch)
      : dtype_(problem.dtype),
        weights_dtype_(pass == Pass::backward_filter ? DType::f32 : problem.dtype),
        input_(bytes(problem.input, dtype_)),
        weights_(bytes(problem.weights, weights_dtype_)),
        output_(bytes(problem.output, dtype_)),
        bias_(static_cast<std::size_t>(problem.output[1]) * sizeof(float)),
        scratch_(scratch),
        pass_(pass),
        has_bias_(problem.bias) {
    std::uint64_t seed = 0;
    for (const Written& each : all()) {
      fill_with_noise(context.stream, each.data, each.elements * element_bytes(each.dtype),
                      each.dtype, ++seed);
    }
  }

  /// Tensors that the pass writes.
  [[nodiscard]] std::vector<Written> written() const {
    const auto [input, weights, output, bias] = all();
    if (pass_ == Pass::forward) return {output};
    if (pass_ == Pass::backward_data) return {input};
    return has_bias_ ? std::vector<Written>{weights, bias} : std::vector<Written>{weights};
  }

  [[nodiscard]] ConvolutionMemory memory() const {
    return {.input = input_.get(),
            .weights = weights_.get(),
            .output = output_.get(),
            .bias = has_bias_ ? reinterpret_cast<float*>(bias_.get()) : nullptr};
  }
  [[nodiscard]] std::byte* scratch() const { return scratch_.get(); }

 private:
  static std::size_t bytes(const Dims& dims, DType dtype) {
    return tensor_desc(dims, dtype, Order::nchw).layout.bytes;
  }
  static Written place(std::string name, const DeviceMemory& memory, DType dtype) {
    return {std::move(name), memory.get(), memory.bytes() / element_bytes(dtype), dtype};
  }
  [[nodiscard]] std::array<Written, 4> all() const {
    return {place("input", input_, dtype_), place("weights", weights_, weights_dtype_),
            place("output", output_, dtype_), place("bias", bias_, DType::f32)};
  }

  DType dtype_;
  DType weights_dtype_;
  DeviceMemory input_;
  DeviceMemory weights_;
  DeviceMemory output_;
  DeviceMemory bias_;
  DeviceMemory scratch_;
  Pass pass_;
  bool has_bias_;
};

std::vector<std::shared_ptr<const Plan>> all_candidates(const Context& context,
                                                        const ConvolutionProblem& problem,
                                                        Pass pass) {
  std::vector<std::shared_ptr<const Plan>> all;
  for (const GraphForm& form : forms_of(problem, pass)) {
    try {
      const auto graph =
          std::make_shared<const Graph>(Target{.handle = context.cudnn}, problem, form);
      for (auto& plan : candidates(graph, problem)) all.push_back(std::move(plan));
    } catch (const Error&) {  // another form may do
    }
  }
  return all;
}

/// A plan of cuDNN or, if it is null, an algorithm of ours.
struct Choice {
  std::shared_ptr<const Plan> plan;
  const transforms::TransformAlgorithm* algorithm;
};

std::unique_ptr<ConvolutionPass> make_pass(const Context& context,
                                           const ConvolutionProblem& problem, Pass pass,
                                           const Choice& choice) {
  if (choice.plan != nullptr) return make_graph_pass(context, problem, choice.plan);
  return transforms::make_transform_pass(context, problem, pass, *choice.algorithm,
                                         workspace_limit);
}

std::string choice_name(const Choice& choice) {
  if (choice.plan == nullptr) return fmt::format("own {}", choice.algorithm->name);
  return setting_name(choice.plan->configuration(), choice.plan->graph().form());
}

std::vector<Choice> all_choices(const Context& context, const ConvolutionProblem& problem,
                                Pass pass) {
  std::vector<Choice> all;
  for (auto& plan : all_candidates(context, problem, pass)) all.push_back({std::move(plan), {}});
  for (const transforms::TransformAlgorithm& algorithm : transforms::transform_algorithms()) {
    if (transforms::is_candidate(algorithm, problem, pass)) all.push_back({nullptr, &algorithm});
  }
  return all;
}

/// A choice and the pass that it makes.
struct Trial {
  Choice choice;
  std::unique_ptr<ConvolutionPass> pass;
};

std::vector<Trial> all_trials(const Context& context, const ConvolutionProblem& problem,
                              Pass pass) {
  std::vector<Trial> trials;
  for (Choice& each : all_choices(context, problem, pass)) {
    try {
      auto made = make_pass(context, problem, pass, each);
      trials.push_back({std::move(each), std::move(made)});
    } catch (const Error&) {  // a library refuses its part of ours, or memory does not suffice
    }
  }
  return trials;
}

Trialled<Choice> tune(const Context& context, const ConvolutionProblem& problem, Pass pass) {
  std::vector<Trial> trials = all_trials(context, problem, pass);
  std::size_t scratch = 0;
  for (const Trial& each : trials) scratch = std::max(scratch, each.pass->scratch_bytes());
  const TrialMemory memory(context, problem, pass, scratch);
  // The first is what cuDNN recommends first, with nothing fused.
  Candidates candidates{
      .runs = {}, .names = {}, .written = memory.written(), .dtype = problem.dtype};
  for (const Trial& each : trials) {
    candidates.runs.emplace_back([&] { each.pass->run(memory.memory(), memory.scratch()); });
    candidates.names.push_back(choice_name(each.choice));
  }
  Examination examination(context, candidates);
  const auto best = fastest(context.stream, candidates.runs,
                            [&](std::size_t candidate) { return examination.passes(candidate); });
  if (!best) {
    throw Unsupported(fmt::format(
        "{}: cuDNN {} has no engine for {} that keeps the precision and works in {} MiB{}{}.",
        problem.what, cudnnGetVersion(), pass_name(pass), workspace_limit >> 20,
        examination.note().empty() ? "" : ": ", examination.note()));
  }
  Choice& choice = trials[best->index].choice;
  std::string name = choice_name(choice);
  std::string data = choice.plan == nullptr ? "" : choice.plan->serialized();
  return {std::move(choice), std::move(name), best->time, std::move(data), examination.note()};
}

/// The recommendations of the heuristics, followed by all other engines with default settings,
/// which the heuristics may miss.
std::vector<Descriptor> configurations(const Graph& graph) {
  std::vector<Descriptor> all = recommended(graph);
  std::set<std::int64_t> seen;
  for (const Descriptor& each : all) seen.insert(notes_of(engine_of(each)).index);
  for (std::int64_t i = 0; i < graph.engine_count(); ++i) {
    const auto found = seen.contains(i) ? std::nullopt : engine(graph, i);
    if (!found) continue;
    if (auto configuration = default_configuration(graph, *found)) {
      all.push_back(std::move(*configuration));
    }
  }
  return all;
}

/// Configurations that keep the precision; only the deterministic ones if there are any.
std::vector<Descriptor> admitted(const Graph& graph, DType dtype) {
  std::vector<Descriptor> repeatable;
  std::vector<Descriptor> others;
  for (Descriptor& configuration : configurations(graph)) {
    const EngineNotes notes = notes_of(engine_of(configuration));
    if (!keeps_precision(notes, dtype)) continue;
    (notes.is_deterministic() ? repeatable : others).push_back(std::move(configuration));
  }
  return repeatable.empty() ? std::move(others) : std::move(repeatable);
}

/// Whether admitted() would include it. Most engines are deterministic, so the list of all is
/// rarely needed.
bool is_admitted(const Graph& graph, DType dtype, const EngineNotes& notes) {
  if (!keeps_precision(notes, dtype)) return false;
  if (notes.is_deterministic()) return true;
  const std::vector<Descriptor> all = admitted(graph, dtype);
  return !all.empty() && !notes_of(engine_of(all.front())).is_deterministic();
}

/// Restores a plan as it was, without asking for current recommendations.
std::shared_ptr<const Plan> recall_plan(const std::shared_ptr<const Graph>& graph,
                                        const ConvolutionProblem& problem, const KeptChoice& kept) {
  auto named = configuration_named(*graph, kept.name);
  if (!named || !is_admitted(*graph, problem.dtype, notes_of(engine_of(*named)))) return nullptr;
  auto plan =
      restored_plan(graph, std::make_shared<const Descriptor>(std::move(*named)), kept.data);
  return plan->workspace_bytes() <= workspace_limit ? plan : nullptr;
}

/// Searches only the choices that tune() would try.
std::optional<Choice> find_choice(const Context& context, const ConvolutionProblem& problem,
                                  Pass pass, const KeptChoice& kept) {
  for (const transforms::TransformAlgorithm& algorithm : transforms::transform_algorithms()) {
    const Choice choice{nullptr, &algorithm};
    if (choice_name(choice) == kept.name && transforms::is_candidate(algorithm, problem, pass))
      return choice;
  }
  const auto form = form_named(forms_of(problem, pass), kept.name);
  if (!form) return std::nullopt;
  const auto graph = std::make_shared<const Graph>(Target{.handle = context.cudnn}, problem, *form);
  if (auto plan = recall_plan(graph, problem, kept)) return Choice{std::move(plan), {}};
  return std::nullopt;
}

/// Finds the choice, and checks that it runs and can be recorded.
std::optional<Choice> recall_choice(const Context& context, const ConvolutionProblem& problem,
                                    Pass pass, const KeptChoice& kept) {
  std::optional<Choice> choice = find_choice(context, problem, pass, kept);
  if (!choice) return std::nullopt;
  const auto made = make_pass(context, problem, pass, *choice);
  const TrialMemory memory(context, problem, pass, made->scratch_bytes());
  const auto run = [&] { made->run(memory.memory(), memory.scratch()); };
  run();
  check(cudaStreamSynchronize(context.stream), "cudaStreamSynchronize", problem.what);
  static_cast<void>(make_recording(context, run));
  return choice;
}

/// A pass with the origin of its choice.
class ChosenPass final : public ConvolutionPass {
 public:
  ChosenPass(std::unique_ptr<ConvolutionPass> pass, std::string remark)
      : pass_(std::move(pass)), remark_(std::move(remark)) {}

  [[nodiscard]] std::string name() const override { return pass_->name() + remark_; }
  [[nodiscard]] std::size_t scratch_bytes() const override { return pass_->scratch_bytes(); }
  void run(const ConvolutionMemory& memory, std::byte* scratch) override {
    pass_->run(memory, scratch);
  }

 private:
  std::unique_ptr<ConvolutionPass> pass_;
  std::string remark_;
};

}  // namespace

std::vector<GraphForm> forms_of(const ConvolutionProblem& problem, Pass pass) {
  std::vector<GraphForm> forms{{.pass = pass}};
  if (pass == Pass::forward && (problem.bias || problem.relu)) {
    forms.push_back({.pass = pass, .fusion = problem.relu ? Fusion::relu : Fusion::bias});
  }
  if (pass == Pass::backward_filter && element_bytes(problem.dtype) < sizeof(float)) {
    forms.push_back({.pass = pass, .weight_gradient = GradientPrecision::low});
  }
  return forms;
}

std::optional<GraphForm> form_named(const std::vector<GraphForm>& forms, const std::string& name) {
  std::optional<GraphForm> found;  // every name ends with the words of a form that has none
  for (const GraphForm& form : forms) {
    if (!name.ends_with(words_of(form))) continue;
    if (!found || words_of(form).size() > words_of(*found).size()) found = form;
  }
  return found;
}

std::vector<Descriptor> configurations_to_try(const Graph& graph, DType dtype) {
  std::vector<Descriptor> all;
  std::size_t compiled = 0;
  for (Descriptor& each : admitted(graph, dtype)) {
    if (notes_of(engine_of(each)).is_compiled() && ++compiled > most_compiled) continue;
    all.push_back(std::move(each));
  }
  return all;
}

std::vector<std::shared_ptr<const Plan>> candidates(const std::shared_ptr<const Graph>& graph,
                                                    const ConvolutionProblem& problem) {
  std::vector<std::shared_ptr<const Plan>> plans;
  for (Descriptor& configuration : configurations_to_try(*graph, problem.dtype)) {
    if (plans.size() == most_candidates) break;
    try {
      auto plan = std::make_shared<const Plan>(
          graph, std::make_shared<const Descriptor>(std::move(configuration)));
      if (plan->workspace_bytes() <= workspace_limit) plans.push_back(std::move(plan));
    } catch (const Error&) {  // what heuristics recommend may still be refused
    }
  }
  return plans;
}

std::unique_ptr<ConvolutionPass> make_graph_pass(const Context& context,
                                                 const ConvolutionProblem& problem,
                                                 std::shared_ptr<const Plan> plan) {
  return std::make_unique<GraphPass>(context, problem, std::move(plan));
}

std::unique_ptr<ConvolutionPass> make_tuned_pass(const Context& context,
                                                 const ConvolutionProblem& problem, Pass pass) {
  const std::string key =
      fmt::format("convolution {} {} {} of a form, {} compiled, in {}", pass_name(pass),
                  key_of(problem), most_candidates, most_compiled, workspace_limit);
  const auto recall = [&](const KeptChoice& kept) {
    return recall_choice(context, problem, pass, kept);
  };
  const auto chosen = context.choices->recall_or_choose<Choice>(
      key, recall, [&] { return tune(context, problem, pass); });
  return std::make_unique<ChosenPass>(make_pass(context, problem, pass, chosen->choice),
                                      chosen->remark());
}

}  // namespace dlscale::backend::cuda
