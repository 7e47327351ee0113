#pragma once
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {

/// Returns the result of `make`. Any Error becomes Unsupported with the same message, so that one
/// failing alternative does not prevent the trial of the others.
template <class Make>
auto offered(const Make& make) {
  try {
    return make();
  } catch (const Unsupported&) {
    throw;
  } catch (const Error& error) {
    throw Unsupported(error.what());
  }
}

}  // namespace dlscale::backend::cuda
