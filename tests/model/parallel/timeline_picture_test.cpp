#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/parallel/schedule/family.hpp"
#include "model/parallel/pipeline/simulation.hpp"

/// The pictures of docs/explanation/parallel-timeline.md are what simulations give.
namespace dlscale::model {
namespace {

using parallel::OperationKind;

constexpr int stages = 4;
constexpr int micro_batches = 8;
constexpr double stage_forward = 2;  ///< characters
constexpr double stage_backward = 4;

char letter(const parallel::Operation& operation) {
  switch (operation.kind) {
    case OperationKind::forward:
      return static_cast<char>('0' + operation.micro_batch);
    case OperationKind::backward:
    case OperationKind::backward_input:
      return static_cast<char>('a' + operation.micro_batch);
    default:
      return 'w';
  }
}

/// A line a stage: forwards by digits, backwards by letters, gradients of weights apart as w.
std::string picture(const std::string& name, int chunks) {
  const parallel::PipelineShape shape{stages, chunks, micro_batches};
  const auto parts = static_cast<std::size_t>(shape.parts());
  const PipelineCosts costs{std::vector<Seconds>(parts, Seconds(stage_forward / chunks)),
                            std::vector<Seconds>(parts, Seconds(stage_backward / chunks)),
                            std::vector<Seconds>(parts, Seconds(stage_backward / chunks / 2))};
  const PipelineTimeline run = timeline(parallel::find_schedule(name).schedule(shape), costs);
  const auto width = static_cast<std::size_t>(std::lround(run.time.makespan.si()));
  std::string text;
  for (std::size_t stage = 0; stage < run.ranks.size(); ++stage) {
    std::string line(width, '.');
    for (const TimedOperation& one : run.ranks[stage]) {
      if (!is_computing(one.operation.kind)) continue;
      for (auto at = std::lround(one.start.si()); at < std::lround(one.end.si()); ++at) {
        line[static_cast<std::size_t>(at)] = letter(one.operation);
      }
    }
    text += "stage " + std::to_string(stage + 1) + "  " + line + "\n";
  }
  return text;
}

TEST(TimelinePictures, AreThoseOfThePage) {
  std::ifstream file(DLSCALE_SOURCE_DIR "/docs/explanation/parallel-timeline.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const auto& [name, chunks] : {std::pair("gpipe", 1), std::pair("1f1b", 1),
                                     std::pair("interleaved", 2), std::pair("zero_bubble", 1)}) {
    const std::string expected = picture(name, chunks);
    EXPECT_NE(page.str().find(expected), std::string::npos) << name << " is\n" << expected;
  }
}

}  // namespace
}  // namespace dlscale::model
