#pragma once
#include <array>
#include <string_view>

#include "core/results/measurement.hpp"

/// What makes a row of a result file one that models and reports can use.
namespace dlscale {

/// The axis of rows that were measured with more work than they name, for studies of noise
/// (bench/engine/extra_work.hpp). Their times are those of no kernel.
inline constexpr std::string_view extra_work_axis = "extra_work";

/// Whether it has times: samples were taken, be they unstable, and of the work that it names.
bool is_timed(const Measurement& measurement);

/// The axis "values" of the numbers that training computes with.
inline constexpr std::string_view normal_values = "normal";
/// Whether it was measured with such; results of earlier versions were, and have no such axis.
bool has_normal_values(const Measurement& measurement);

/// Axes of "comm" and their values for the messages of training, but for what in_training() says.
/// Results of earlier versions are of such messages, and have no such axes.
struct MessageAxis {
  std::string_view name;
  std::string_view in_training;
};
inline constexpr std::array message_axes{
    MessageAxis{"dtype", "f32"}, MessageAxis{"op", "sum"}, MessageAxis{"mode", "blocking"},
    MessageAxis{"in_place", "yes"}, MessageAxis{"algorithm", "library"}};
/// The value of that axis for the messages of training. Blocks go from one place to another
/// (train/exchange/carriages.hpp); in place NCCL has some of them otherwise than MPI, and others not at all.
std::string_view in_training(const MessageAxis& axis, std::string_view collective);
/// Whether it is of blocks of the host's memory in place, as earlier versions measured them unless
/// told otherwise: not sent as in training, but usable where none that are were measured.
bool is_in_place_for_want_of_choice(const Measurement& measurement);
/// Whether it is of messages as training sends them, of some size, and alone; those of a replay
/// follow each other. Axes that do not concern its collective are not looked at.
bool is_sent_as_in_training(const Measurement& measurement);
/// Whether it is of such messages beside work that went on meanwhile (axis "beside").
bool is_sent_beside_work(const Measurement& measurement);

/// The axis of messages that lie in memory of a device, and its value. Others have none: messages
/// of the host's memory, as are all of earlier versions.
inline constexpr std::string_view memory_axis = "memory";
inline constexpr std::string_view device_memory = "device";
bool is_of_device_memory(const Measurement& measurement);
/// How the axis "library" ends of such messages where the communicator takes memory of the host
/// only, so that they were copied there and back.
inline constexpr std::string_view staged_by_host = ", GPU memory through the host";

}  // namespace dlscale
