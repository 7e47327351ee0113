#include "backend/comm/nccl/communicator.hpp"

#include "backend/comm/nccl/call.hpp"
#include "backend/comm/nccl/device.hpp"
#include "core/error.hpp"

namespace dlscale::backend::gpu_comm {

LinkId agree_on_link(Communicator& over) {
  LinkId id{};
  if (over.rank() == 0) id = new_link_id(0);
  over.broadcast(id, 0);
  return id;
}

NcclCommunicator::NcclCommunicator(std::unique_ptr<Communicator> host, int device)
    : host_(std::move(host)),
      link_({device, host_->rank(), host_->size()}, agree_on_link(*host_)) {}

std::string NcclCommunicator::library() const {
  return library_name();
}

void NcclCommunicator::send(std::span<const std::byte> data, Rank to, int tag) {
  expect_host(data.data(), data.size());
  host_->send(data, to, tag);
}

void NcclCommunicator::receive(std::span<std::byte> data, Rank from, int tag) {
  expect_host(data.data(), data.size());
  host_->receive(data, from, tag);
}

void NcclCommunicator::all_reduce(std::span<float> data, Reduction op) {
  if (side_of(data.data(), data.size_bytes(), gpu()) == Side::host) {
    return host_->all_reduce(data, op);
  }
  link_.enter();
  link_.check(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat32, nccl_operator(op),
                            link_.get(), link_.stream()),
              "ncclAllReduce");
  link_.wait();
}

void NcclCommunicator::all_reduce(std::span<double> data, Reduction op) {
  expect_host(data.data(), data.size_bytes());
  host_->all_reduce(data, op);
}

void NcclCommunicator::broadcast(std::span<std::byte> data, Rank root) {
  EXPECT(root >= 0 && root < size());
  if (side_of(data.data(), data.size(), gpu()) == Side::host) {
    return host_->broadcast(data, root);
  }
  link_.enter();
  link_.check(ncclBroadcast(data.data(), data.data(), data.size(), ncclUint8, root, link_.get(),
                            link_.stream()),
              "ncclBroadcast");
  link_.wait();
}

void NcclCommunicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  expect_host(mine.data(), mine.size());
  expect_host(all.data(), all.size());
  host_->all_gather(mine, all);
}

std::unique_ptr<Communicator> NcclCommunicator::duplicate() {
  return std::make_unique<NcclCommunicator>(host_->duplicate(), gpu());
}

void NcclCommunicator::expect_host(const void* data, std::size_t bytes) const {
  EXPECT(side_of(data, bytes, gpu()) == Side::host);
}

}  // namespace dlscale::backend::gpu_comm
