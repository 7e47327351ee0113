#pragma once

namespace dlscale {

/// Makes the program outlive its standard streams: a full disk, a closed pipe or a terminal that is
/// gone. Called once, before anything is opened or printed:
/// - A stream that is closed is opened: an input without content, an output that accepts nothing,
///   and errors that are dropped. Otherwise the next file would take the stream's number.
/// - Whatever cannot be written to `stderr` is dropped, so that no progress or warning can end a
///   measurement.
/// - A write beyond a file size limit or to a pipe without a reader fails instead of ending the
///   program (SIGXFSZ, SIGPIPE). Children get the default actions back.
/// - Standard output waits for a slow reader, even if its pipe is set to non-blocking.
/// It still reports what is lost (check_standard_output()).
void keep_standard_streams();

/// Whether standard output is a pipe whose reader wants no more, as "| head" does.
bool is_left_by_its_reader();

}  // namespace dlscale
