#pragma once

namespace dlscale {

/// SIGINT, SIGTERM and, unless it is ignored, SIGHUP set a flag. Long loops check it between
/// samples and throw Interrupted, so that results reach the disk. A second signal ends the process
/// at once.
void install_signal_handlers();
/// Acts as if `signal` had arrived; for code that takes it off the queue of blocked signals.
void remember_signal(int signal);
/// Acts as if a signal to another process of the same job had arrived here.
void follow_signal(int signal);
/// The signal that arrived here or at a process that is followed, or 0.
int pending_signal();
/// The signal that this process itself received, or 0.
int own_signal();
/// Throws Interrupted if a signal arrived.
void throw_if_interrupted();

}  // namespace dlscale
