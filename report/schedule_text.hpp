#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/run.hpp"

namespace dlscale::report {

/// How the gradients of a run travel, in words: "wait_free", "wait_free by parameter server",
/// "horovod (cycle 5.000 ms)". Of settings, those that are not as usual.
std::string schedule_text(const Run& run);

/// A setting of a schedule as documents for programs have it.
struct ScheduleField {
  enum class Kind { number, word };

  std::string_view key;  ///< with its unit, "cycle_s"
  std::string value;     ///< empty where it has no effect on the run
  Kind kind = Kind::number;
};

/// "cycle_s" and "fusion_threshold_bytes" of horovod, "partition_bytes" and "credit" of priority,
/// "servers" and "sharding" of a parameter server, "first_bucket_bytes" and "bucket_bytes", at
/// which buckets are closed, of schedules with buckets: always all of them, in this order.
std::vector<ScheduleField> schedule_fields(const Run& run);

}  // namespace dlscale::report
