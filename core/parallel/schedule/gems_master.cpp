#include "core/parallel/schedule/family.hpp"
#include "core/parallel/schedule/gems.hpp"

namespace dlscale::parallel {
namespace {

std::string master_obstacle(const PipelineShape& shape) {
  return shape.micro_batches >= 2 ? gems_obstacle(shape) : "needs 2 micro-batches or more";
}

}  // namespace

extern const PipelineSchedule gems_master{
    "gems_master",        "gems_mast with more batches, which take the copies in turn",
    gems_schedule,        master_obstacle,
    Delivery::rendezvous, 2};

}  // namespace dlscale::parallel
