#include "backend/compute/cuda/algorithms.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "backend/compute/cuda/cudnn/graph_convolution.hpp"
#include "backend/compute/cuda/cudnn/legacy_convolution.hpp"
#include "backend/compute/cuda/cudnn/transform_algorithms.hpp"
#include "backend/compute/cuda/cudnn/tuning.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

using MakePass = std::function<std::unique_ptr<ConvolutionPass>()>;

/// Makes the list for one pass of one convolution.
class Lister {
 public:
  Lister(const Context& context, const OperationSpec& spec, const Convolution& kind, Pass pass)
      : context_(&context), problem_(problem_of(spec, kind, context.order)), pass_(pass) {}

  std::vector<Algorithm> list() && {
    for (const GraphForm& form : forms_of(problem_, pass_)) add_form(form);
    for (int i = 0; i < legacy_algorithm_count(pass_); ++i) add_legacy(i);
    for (const transforms::TransformAlgorithm& way : transforms::transform_algorithms())
      add_own(way);
    return std::move(all_);
  }

 private:
  void add(std::string name, MakePass make) {
    all_.push_back({std::move(name),
                    [context = context_, problem = problem_, pass = pass_, make = std::move(make)] {
                      const auto way = [&](Pass each) {
                        return each == pass ? offered(make)
                                            : make_tuned_pass(*context, problem, each);
                      };
                      return make_convolution(*context, problem, way(Pass::forward),
                                              way(Pass::backward_data), way(Pass::backward_filter));
                    }});
  }

  void add_legacy(int algorithm) {
    add(fmt::format("legacy {} {}", algorithm, legacy_algorithm_name(pass_, algorithm)),
        [context = context_, problem = problem_, pass = pass_, algorithm] {
          return make_legacy_pass(*context, problem, pass, algorithm);
        });
  }

  void add_own(const transforms::TransformAlgorithm& way) {
    add(fmt::format("own {}", way.name),
        [context = context_, problem = problem_, pass = pass_, &way] {
          return transforms::make_transform_pass(*context, problem, pass, way);
        });
  }

  void add_form(const GraphForm& form) {
    try {
      add_plans(std::make_shared<const Graph>(Target{.handle = context_->cudnn}, problem_, form));
    } catch (const Error& refusal) {
      add("graph" + words_of(form),
          [reason = std::string(refusal.what())]() -> std::unique_ptr<ConvolutionPass> {
            throw Unsupported(reason);
          });
    }
  }

  void add_plans(const std::shared_ptr<const Graph>& graph) {
    std::set<std::int64_t> seen;
    for (Descriptor& configuration : recommended(*graph)) {
      const EngineNotes notes = notes_of(engine_of(configuration));
      seen.insert(notes.index);
      const std::string knobs = knobs_of(configuration);
      add_plan(graph, notes, knobs, std::make_shared<const Descriptor>(std::move(configuration)));
    }
    for (const EngineNotes& notes : census(*graph)) {
      if (!seen.contains(notes.index)) add_plan(graph, notes, "default", nullptr);
    }
  }

  /// A null `configuration` means the default one.
  void add_plan(const std::shared_ptr<const Graph>& graph, const EngineNotes& notes,
                const std::string& knobs, std::shared_ptr<const Descriptor> configuration) {
    add(fmt::format("eng{} {}{}", notes.index, knobs, words_of(graph->form())),
        [context = context_, problem = problem_, graph, notes,
         configuration = std::move(configuration)] {
          if (!keeps_precision(notes, problem.dtype)) refuse_precision(problem, notes);
          auto plan = std::make_shared<const Plan>(
              graph, configuration ? configuration : default_of(problem, *graph, notes.index));
          return make_graph_pass(*context, problem, std::move(plan));
        });
  }

  static std::shared_ptr<const Descriptor> default_of(const ConvolutionProblem& problem,
                                                      const Graph& graph, std::int64_t index) {
    auto found = engine(graph, index);
    auto configuration = found ? default_configuration(graph, *found) : std::nullopt;
    if (configuration) return std::make_shared<const Descriptor>(std::move(*configuration));
    throw Unsupported(fmt::format("{}: engine {} of cuDNN refuses its default settings: {}.",
                                  problem.what, index, last_cudnn_message()));
  }

  [[noreturn]] static void refuse_precision(const ConvolutionProblem& problem,
                                            const EngineNotes& notes) {
    throw Unsupported(fmt::format("{}: {} computes with less than {} and sums in f32.",
                                  problem.what, to_string(notes), dtype_name(problem.dtype)));
  }

  const Context* context_;
  ConvolutionProblem problem_;
  Pass pass_;
  std::vector<Algorithm> all_;
};

}  // namespace

std::vector<Algorithm> algorithms(const Context& context, const OperationSpec& spec, Pass pass) {
  const auto* kind = std::get_if<Convolution>(&spec.layer.kind);
  if (kind == nullptr || pass == Pass::accumulate) return {};
  return Lister(context, spec, *kind, pass).list();
}

}  // namespace dlscale::backend::cuda
