#include "core/parallel/schedule/family.hpp"
#include "core/parallel/schedule/gems.hpp"

namespace dlscale::parallel {
namespace {

std::string mast_obstacle(const PipelineShape& shape) {
  return shape.micro_batches == 2 ? gems_obstacle(shape)
                                  : "takes 2 micro-batches, one for each copy of the network";
}

}  // namespace

extern const PipelineSchedule gems_mast{
    "gems_mast",          "two copies of the network in opposite order, a batch each",
    gems_schedule,        mast_obstacle,
    Delivery::rendezvous, 2};

}  // namespace dlscale::parallel
