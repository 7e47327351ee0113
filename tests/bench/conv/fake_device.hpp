#pragma once
#include <memory>
#include <string>

#include "backend/compute/compute.hpp"

namespace dlscale::bench {

/// What a FakeDevice does wrong.
enum class Fault {
  none,
  output,      ///< one element of every output and matrix product is off
  gradient,    ///< one element of every first input gradient is infinite
  filter,      ///< one element of every first parameter gradient is off
  accumulate,  ///< one element of every sum is off
  update,      ///< one weight is off
  nan,  ///< one element of every output, product, first gradient, sum and weight is no number
  unsupported,  ///< creates no ReLU and no matrix product
  vast,         ///< says that every operation and matrix product needs an exbibyte to work in
  broken,       ///< throws instead of running an operation, a matrix product or an update
};

/// The reference device with one fault. Of convolutions it knows four algorithms: "good", "off"
/// (one element of what it computes is wrong), "fails" (when it runs), and "gone", which the
/// library no longer offers.
std::unique_ptr<backend::ComputeDevice> make_fake_device(Fault fault);

}  // namespace dlscale::bench
