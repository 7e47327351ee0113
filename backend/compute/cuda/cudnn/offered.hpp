#pragma once
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {

/// What `make` makes. Of a way that is only one of several, whatever goes wrong is a refusal: an
/// error becomes Unsupported with its words, so that the others are still tried.
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
