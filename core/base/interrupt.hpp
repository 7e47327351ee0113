#pragma once

namespace dlscale {

/// SIGINT, SIGTERM and, unless it is ignored, SIGHUP set a flag; long loops look at it between
/// samples and throw Interrupted, so that results reach the disk. A second signal ends the process
/// at once.
void install_signal_handlers();
/// As if `signal` had come: for who takes it off the queue of blocked signals.
void remember_signal(int signal);
/// As if the signal that came to another process of the same job had come here.
void follow_signal(int signal);
/// The signal that came, here or to a process that is followed, or 0.
int pending_signal();
/// That which came to this process itself, or 0.
int own_signal();
/// Throws Interrupted if a signal came.
void throw_if_interrupted();

}  // namespace dlscale
