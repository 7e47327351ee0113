#pragma once
#include <array>
#include <string_view>

#include "core/results/measurement.hpp"

/// Rules that decide which rows of a result file models and reports can use.
namespace dlscale {

/// Axis of rows that were measured with extra work, for studies of noise
/// (bench/engine/benchmark.hpp). Their times do not belong to any kernel.
inline constexpr std::string_view extra_work_axis = "extra_work";

/// Whether the row has times: samples, perhaps unstable, of exactly the work that it names.
bool is_timed(const Measurement& measurement);

/// Value of the axis "values" for the numbers that training computes with.
inline constexpr std::string_view normal_values = "normal";
/// Whether it was measured with normal values, as were results of earlier versions without this
/// axis.
bool has_normal_values(const Measurement& measurement);

/// Axes of "comm" with their values for messages of training, except where in_training() differs.
/// Results of earlier versions are of such messages, and have no such axes.
struct MessageAxis {
  std::string_view name;
  std::string_view in_training;
};
inline constexpr std::array message_axes{
    MessageAxis{"dtype", "f32"}, MessageAxis{"op", "sum"}, MessageAxis{"mode", "blocking"},
    MessageAxis{"in_place", "yes"}, MessageAxis{"algorithm", "library"}};
/// Value of that axis for messages of training. Blocks move out of place
/// (train/exchange/gradient_reducer.hpp): in place, NCCL treats some of them differently from MPI
/// and does not support others.
std::string_view in_training(const MessageAxis& axis, std::string_view collective);
/// Whether it measured blocks of host memory in place, which was the default of earlier versions.
/// Training does not send them so; they are usable if there are no measurements out of place.
bool is_in_place_for_want_of_choice(const Measurement& measurement);
/// Whether it measured messages as training sends them, of any size, and alone; those of a replay
/// (files of dlscale 0.1.0) follow each other. Axes that do not concern its collective are ignored.
bool is_sent_as_in_training(const Measurement& measurement);
/// Whether it measured such messages concurrently with other work (axis "beside").
bool is_sent_beside_work(const Measurement& measurement);

/// Axis of messages in device memory, and its value. Other messages, and all of earlier versions,
/// are in host memory and lack the axis.
inline constexpr std::string_view memory_axis = "memory";
inline constexpr std::string_view device_memory = "device";
bool is_of_device_memory(const Measurement& measurement);
/// Suffix of the axis "library" for such messages if the communicator takes only host memory, so
/// that they were copied there and back.
inline constexpr std::string_view staged_by_host = ", GPU memory through the host";

}  // namespace dlscale
