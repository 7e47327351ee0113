#pragma once
#include <string>

#include "core/base/error.hpp"
#include "core/base/ids.hpp"

namespace dlscale::backend::gpu_comm {

/// A call of NCCL that did not succeed.
struct Failure {
  std::string call;
  int code = 0;        ///< ncclResult_t
  std::string text;    ///< ncclGetErrorString
  std::string detail;  ///< ncclGetLastError; may be empty
  Rank rank = 0;
};

/// Whether `code` is how the death of another rank looks from here.
bool may_be_a_death(int code);

/// Names call, code, rank, NCCL's words and what to do about this code.
LibraryError error_of(const Failure& failure);

}  // namespace dlscale::backend::gpu_comm
