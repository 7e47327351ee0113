#!/usr/bin/env bash
# Builds two commits of this checkout, judges one against the other by dlscale gate, and leaves what CI shows of it.
# usage: docs/ci/gate.sh BASE NEW FOLDER
#   FOLDER  gets headline.txt, comment.md, junit.xml, metrics.txt, page/ (index.html), summary.png, and the rounds in gate/. The same call
#           goes on with its rounds; other commits, or anything else that makes another question, discard them.
# Settings, from the environment:
#   ADVICE=yes         a regression and an undecided gate are told and pass: for machines that others use as well (no)
#   SUITE              what both commits run (gate)
#   MARGIN, ROUNDS     of dlscale gate (0.01, 40)
#   TIME_BUDGET        seconds after which no round begins (1200)
#   NOISE_MINUTES      how long to measure first which changes this machine can show; 0: not at all (1)
#   PRESET             of CMake (release)
#   BUILDS             where commits are built and stay for the next gate (build/gate)
# Exit code: that of dlscale gate (docs/reference/gate.md), with ADVICE=yes 0 in place of 1 and 3. A build that fails: 4.
set -euo pipefail

fail() { # SENTENCE [CODE]
  echo "gate.sh: $1" >&2
  exit "${2:-2}"
}

case ${1:-} in -h | --help) sed -n '2,14s/^# //p' "$0"; exit 0 ;; esac
[ $# -eq 3 ] || fail "it takes two commits and a folder. Write docs/ci/gate.sh BASE NEW FOLDER."
advice=${ADVICE:-no}
case $advice in yes | no) ;; *) fail "ADVICE is \"$advice\". Write yes or no." ;; esac
suite=${SUITE:-gate}
margin=${MARGIN:-0.01}
preset=${PRESET:-release}
noise_minutes=${NOISE_MINUTES:-1}

commit_of() { # NAME: its hash
  git rev-parse --verify --quiet --end-of-options "$1^{commit}" ||
    fail "\"$1\" is not a commit of this checkout. A shallow one has few: fetch more (fetch-depth, GIT_DEPTH)."
}
base=$(commit_of "$1")
new=$(commit_of "$2")
folder=$3
mkdir -p "$folder" "${BUILDS:-build/gate}"
folder=$(cd "$folder" && pwd)
builds=$(cd "${BUILDS:-build/gate}" && pwd)

# Two gates on one machine at a time would disturb each other.
exec 9> "$builds/lock"
flock --nonblock --conflict-exit-code 75 9 || case $? in
  75) echo "gate.sh: waiting for another gate on this machine" >&2 && flock 9 ;;
  *) echo "gate.sh: $builds is on a file system without locks: see to it that no other gate runs on this machine" >&2 ;;
esac

build() { # COMMIT: builds its program, once
  local tree=$builds/$1-$preset
  [ ! -f "$tree.built" ] || return 0
  echo "gate.sh: building ${1:0:12}" >&2
  local generator=()
  command -v ninja > /dev/null && [ ! -f "$tree/build/$preset/CMakeCache.txt" ] && generator=(-G Ninja)
  if ! { [ -e "$tree/.git" ] || git worktree add --quiet --force --detach "$tree" "$1"; } > "$tree.log" 2>&1 ||
    ! cmake -S "$tree" --preset "$preset" "${generator[@]}" >> "$tree.log" 2>&1 ||
    ! cmake --build "$tree/build/$preset" --target dlscale --parallel "$(nproc)" >> "$tree.log" 2>&1; then
    tail -n 30 "$tree.log" >&2
    fail "the build of $1 failed; the end of $tree.log is above." 4
  fi
  touch "$tree.built"
}
build "$base"
build "$new"
base_build=$builds/$base-$preset/build/$preset
new_build=$builds/$new-$preset/build/$preset
# The version that is there already judges the new one: a change must not be its own judge.
judge=$base_build/dlscale
export DLSCALE_CONFIGS=$builds/$base-$preset/configs

# Rounds of two questions answer neither, and the program refuses them.
keep_rounds_of() { # FOLDER QUESTION: rounds of another question are discarded there
  mkdir -p "$1"
  [ "$(cat "$1/question.txt" 2> /dev/null)" = "$2" ] || rm -f "$1/rounds.jsonl"
  echo "$2" > "$1/question.txt"
}
programs="$base $new $preset $(cksum < "$base_build/dlscale") $(cksum < "$new_build/dlscale")"

sees=
if [ "$noise_minutes" != 0 ]; then
  keep_rounds_of "$folder/noise" "$base $preset $(cksum < "$judge")"
  "$judge" noise --minutes "$noise_minutes" --kernels gemm,triad --effects 5 --margin "$margin" \
    -o "$folder/noise" > "$folder/noise.txt"
  sees=$(head -n 1 "$folder/noise.txt")
fi

# Of an earlier call; its rounds are used again.
rm -f "$folder/gate/gate.json" "$folder/comment.md" "$folder/junit.xml" "$folder/metrics.txt" "$folder/summary.png"
keep_rounds_of "$folder/gate" "$programs $suite"
code=0
"$judge" gate --base-build "$base_build" --new-build "$new_build" --suite "$suite" --margin "$margin" \
  --rounds "${ROUNDS:-40}" --time-budget "${TIME_BUDGET:-1200}" --canary --write "comment=$folder/comment.md" \
  --write "junit=$folder/junit.xml" --write "openmetrics=$folder/metrics.txt" -o "$folder/gate" > "$folder/gate.txt" || code=$?

# Nothing goes on with rounds of two places or programs.
if [ "$code" = 4 ] && grep -qs '"invalid": true' "$folder/gate/gate.json"; then rm -f "$folder/gate/rounds.jsonl"; fi

if [ -f "$folder/gate/gate.json" ]; then
  head -n 1 "$folder/gate.txt" > "$folder/headline.txt"
  page() { "$judge" report "$folder/gate/gate.json" -o "$folder/page" "$@" > /dev/null; }
  # Without a picture where matplotlib is missing, or --picture in the base.
  page --picture "$folder/summary.png" || page
else
  echo "the gate ended with exit code $code before it had a result" > "$folder/headline.txt"
fi
[ -f "$folder/comment.md" ] || printf '<!-- dlscale -->\n%s\n' "$(cat "$folder/headline.txt")" > "$folder/comment.md"
{
  [ -z "$sees" ] || printf '\n%s\n' "$sees"
  [ "$advice" = no ] || printf '\nAdvice only: a regression does not fail this run.\n'
} >> "$folder/comment.md"

cat "$folder/headline.txt"
[ -z "$sees" ] || echo "$sees"
case $advice:$code in
  yes:1 | yes:3)
    echo "advice only: exit code $code of the gate passes"
    code=0
    ;;
esac
exit "$code"
