#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/comm/passing_communicator.hpp"

namespace dlscale::bench {

/// Takes memory of the rank's device, one that the host can touch (NearDevice), and tells of its
/// calls. Memory of the host is none of a device's.
class BetweenDevices : public PassingCommunicator {
 public:
  using PassingCommunicator::PassingCommunicator;
  [[nodiscard]] std::string library() const override { return "between devices 1.0"; }
  [[nodiscard]] bool takes_device_memory() const override { return true; }
  [[nodiscard]] std::unique_ptr<backend::PreparedCollective> prepare(
      const backend::CollectiveCall& call, backend::Mode mode) override {
    EXPECT_EQ(call.place, backend::DataPlace::device);
    EXPECT_EQ(mode, backend::Mode::blocking);
    prepared.push_back(call.collective);
    backend::CollectiveCall on_host = call;
    on_host.place = backend::DataPlace::host;
    return PassingCommunicator::prepare(on_host, mode);
  }
  [[nodiscard]] std::optional<backend::CallFacts> facts_of(
      const backend::CollectiveCall& call) override {
    backend::carry_out(*this, call);
    ++asked;
    return facts;
  }
  backend::CallFacts facts{Seconds(1e-6), "RING, LL, 2 channels", ""};
  int asked = 0;
  std::vector<backend::Collective> prepared;
};

}  // namespace dlscale::bench
