#include "backend/comm/nccl/prepared.hpp"

#include <fmt/format.h>

#include "backend/comm/nccl/enqueue.hpp"
#include "backend/comm/nccl/exchange_of.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

class OnLink : public PreparedCollective {
 public:
  OnLink(Link& link, const CollectiveCall& call)
      : link_(&link), call_(call), exchange_(exchange_of(call, link.end().rank, link.end().size)) {}

  void start() override {
    link_->enter();
    // On its root, NCCL reads the source of a broadcast; the call has only one side.
    const bool broadcasts = call_.collective == backend::Collective::broadcast;
    enqueue(*link_, exchange_, broadcasts ? call_.to.data() : call_.from.data(), call_.to.data(),
            link_->stream());
    link_->wait();
  }
  void wait() override {}

 private:
  Link* link_;
  CollectiveCall call_;
  Exchange exchange_;
};

}  // namespace

std::unique_ptr<PreparedCollective> prepare_on(Link& link, const CollectiveCall& call, Mode mode) {
  expect_well_made(call, link.end().rank, link.end().size);
  if (mode != Mode::blocking) {
    throw Unsupported(
        fmt::format("Calls with a GPU's memory are blocking, not {}. Use --mode blocking, or "
                    "--memory host.",
                    to_string(mode)));
  }
  return std::make_unique<OnLink>(link, call);
}

}  // namespace dlscale::backend::gpu_comm
